/**
 * Folders of a volume, entered part by part through open handles. What a service plants in its volume meanwhile, such as
 * a symbolic link in place of a folder, is met as what it is and never followed.
 *
 * On Linux every step goes through `/proc/self/fd/N/NAME`, which is `openat(2)`: the folder that was opened, wherever
 * its name leads by now. Elsewhere nothing runs in a sandbox, so a service could read by itself what a race would show.
 */
import { constants, type Dirent } from "node:fs";
import { type FileHandle, mkdir, open, opendir } from "node:fs/promises";
import { join } from "node:path";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
export const throughHandles = process.platform === "linux";

export const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException | undefined)?.code;

/** What opening answers where a part of the way is not there, or is no folder (a link is none). */
export const isNoWay = (error: unknown): boolean => ["ENOENT", "ENOTDIR", "ELOOP"].includes(codeOf(error) ?? "");

/**
 * The entries of a folder with their names as bytes: names that services gave may not be UTF-8. Node's types know text
 * alone.
 */
export const openNames = (path: string | Buffer, bufferSize?: number): Promise<AsyncIterable<Dirent<Buffer>>> => {
  const options = { encoding: "buffer" as BufferEncoding, ...(bufferSize === undefined ? {} : { bufferSize }) };
  return opendir(path, options) as Promise<unknown> as Promise<AsyncIterable<Dirent<Buffer>>>;
};

export class Folder implements AsyncDisposable {
  readonly handle: FileHandle;
  readonly #path: string;

  constructor(handle: FileHandle, path: string) {
    this.handle = handle;
    this.#path = path;
  }

  /** A way to the folder itself that no change of names can turn elsewhere. */
  get here(): string {
    return throughHandles ? `/proc/self/fd/${this.handle.fd}` : this.#path;
  }

  /** A way to what stands under the name in this folder; whoever opens it must not follow links. */
  at(name: string): string {
    return join(this.here, name);
  }

  /** Like `at`, for a name that may not be UTF-8. */
  atBytes(name: Buffer): Buffer {
    return Buffer.concat([Buffer.from(`${this.here}/`), name]);
  }

  /** The folder under the name. Rejects where there is none. */
  async enter(name: string | Buffer): Promise<Folder> {
    const path = typeof name === "string" ? this.at(name) : this.atBytes(name);
    return new Folder(await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), join(this.#path, name.toString()));
  }

  /** Makes the names in it last. */
  sync(): Promise<void> {
    return this.handle.sync();
  }

  close(): Promise<void> {
    return this.handle.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Opens a folder of the platform's own. */
export const openRoot = async (path: string): Promise<Folder> =>
  new Folder(await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path);

/** True where it was not there before. */
const make = async (folder: Folder, name: string): Promise<boolean> => {
  try {
    await mkdir(folder.at(name));
    await folder.sync();
    return true;
  } catch (error) {
    if (codeOf(error) !== "EEXIST") throw error;
    return false;
  }
};

/** A part of the way is no folder. */
export class Blocked extends Error {
  /** The path of that part, from the root. */
  readonly at: string;

  constructor(at: string, cause: unknown) {
    super(`${at} is no folder`, { cause });
    this.at = at;
  }
}

/**
 * Enters one part after the other; missing ones are made where `creating`.
 * Rejects with `Blocked` where a part is there and no folder, and with ENOENT where one is missing.
 * @param user the owner of new folders, if not the user of this process
 */
export const descend = async (
  root: Folder,
  parts: readonly string[],
  creating: boolean,
  user?: number,
): Promise<Folder> => {
  let folder = root;
  for (const [index, part] of parts.entries()) {
    try {
      const made = creating && (await make(folder, part));
      const next = await folder.enter(part);
      if (made && user !== undefined) await next.handle.chown(user, user);
      if (folder !== root) await folder.close();
      folder = next;
    } catch (error) {
      if (folder !== root) await folder.close();
      throw isNoWay(error) && codeOf(error) !== "ENOENT"
        ? new Blocked(parts.slice(0, index + 1).join("/"), error)
        : error;
    }
  }
  return folder;
};
