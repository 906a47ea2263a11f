/**
 * Opens the folders of a path one by one through open handles, and follows no symbolic links, because a service may
 * replace a folder with a symbolic link.
 *
 * On Linux, every step opens `/proc/self/fd/N/NAME`. Renaming a folder does not redirect this path, as with
 * `openat(2)`. On other systems, services run without a sandbox, so a race gives them access only to files that they
 * can read anyway.
 */
import { constants, type Dirent } from "node:fs";
import { type FileHandle, mkdir, open, opendir } from "node:fs/promises";
import { join } from "node:path";

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants;
export const throughHandles = process.platform === "linux";

export const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException | undefined)?.code;

/**
 * Returns true if a component of the path is missing or is not a folder. A symbolic link does not count as a folder.
 */
export const isPathMissing = (error: unknown): boolean => ["ENOENT", "ENOTDIR", "ELOOP"].includes(codeOf(error) ?? "");

/**
 * Returns the entries of a folder with their names as bytes, because services may choose names that are not UTF-8. The
 * type definitions of Node.js lack this encoding.
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

  /** A path to the open folder. Renaming the folder does not redirect the path. */
  get here(): string {
    return throughHandles ? `/proc/self/fd/${this.handle.fd}` : this.#path;
  }

  /** Returns a path to the named entry. The caller must open the path without following a symbolic link. */
  at(name: string): string {
    return join(this.here, name);
  }

  /** Like `at`, for a name that is not necessarily UTF-8. */
  atBytes(name: Buffer): Buffer {
    return Buffer.concat([Buffer.from(`${this.here}/`), name]);
  }

  /** Opens the named subfolder. Rejects if the entry does not exist or is not a folder. */
  async enter(name: string | Buffer): Promise<Folder> {
    const path = typeof name === "string" ? this.at(name) : this.atBytes(name);
    return new Folder(await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), join(this.#path, name.toString()));
  }

  /** Flushes the folder's entries to disk. */
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

/** Opens a folder that only the platform can rename. */
export const openRoot = async (path: string): Promise<Folder> =>
  new Folder(await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW), path);

/** Creates a folder. Returns false if it already exists. */
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

/** Thrown if a path component exists and is not a folder. */
export class NotAFolder extends Error {
  /** The path of the component, relative to the root. */
  readonly at: string;

  constructor(at: string, cause: unknown) {
    super(`${at} is not a folder`, { cause });
    this.at = at;
  }
}

/**
 * Opens one path component after the other. Creates missing folders if `creating` is set.
 * Rejects with `NotAFolder` if a component is not a folder, and with ENOENT if a component is missing.
 * @param user the owner of new folders; undefined for the user of this process
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
      throw isPathMissing(error) && codeOf(error) !== "ENOENT"
        ? new NotAFolder(parts.slice(0, index + 1).join("/"), error)
        : error;
    }
  }
  return folder;
};
