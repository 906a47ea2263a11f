/**
 * A file that is being fetched: `NAME.part`, with the entity tag of its object beside it, so that a later `get` can go
 * on where this one was stopped. It becomes NAME once it is whole.
 */
import { constants, existsSync, readFileSync } from "node:fs";
import { type FileHandle, mkdir, open, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { CommandError } from "../../terminal/io.ts";
import type { Fetched, Sink } from "./download.ts";

export const partOf = (path: string): string => `${path}.part`;
export const tagOf = (path: string): string => `${path}.part.etag`;

/** What the file system said no to, as words. */
const inWords = async <T>(path: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error) || !("syscall" in error)) throw error;
    throw new CommandError(`'${path}' cannot be written: ${error.message}`);
  }
};

const readTag = (path: string): string | undefined => {
  try {
    return readFileSync(tagOf(path), "utf8");
  } catch {
    return undefined;
  }
};

export class PartFile implements Sink {
  readonly #path: string;
  readonly #file: FileHandle;
  at = 0;
  etag: string | undefined;

  private constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
  }

  /** @param path what the file is called once it is whole */
  static open(path: string): Promise<PartFile> {
    return inWords(path, async () => {
      const tag = readTag(path);
      if (tag === undefined && existsSync(partOf(path)))
        throw new CommandError(`'${partOf(path)}' is there, and not from an earlier 'get'; move it away first.`);
      await mkdir(dirname(path), { recursive: true });
      // Before the part itself: a part without a tag beside it is somebody else's.
      if (tag === undefined) await writeFile(tagOf(path), "");
      const part = new PartFile(path, await open(partOf(path), constants.O_RDWR | constants.O_CREAT));
      part.at = tag ? (await part.#file.stat()).size : 0;
      part.etag = tag || undefined;
      return part;
    });
  }

  begin(etag: string | undefined): Promise<void> {
    return inWords(this.#path, async () => {
      this.at = 0;
      this.etag = undefined;
      // The earlier object's bytes go before its tag does: at no moment does a tag stand beside another's bytes.
      await this.#file.truncate(0);
      await writeFile(tagOf(this.#path), etag ?? "");
      this.etag = etag;
    });
  }

  write(bytes: Uint8Array): Promise<void> {
    return inWords(this.#path, async () => {
      // At its place, not at the end: two commands that fetch one object write the same file then.
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await this.#file.write(bytes, done, bytes.length - done, this.at);
        done += bytesWritten;
        this.at += bytesWritten;
      }
    });
  }

  /** Gives it its name, and the object's own time. */
  finish({ modified }: Fetched, replaces: boolean): Promise<void> {
    return inWords(this.#path, async () => {
      if (modified !== undefined) await this.#file.utimes(new Date(), modified);
      await this.#file.close();
      if (!replaces && existsSync(this.#path)) throw new CommandError(`'${this.#path}' came up meanwhile; it stays.`);
      await rename(partOf(this.#path), this.#path);
      await rm(tagOf(this.#path), { force: true });
    });
  }

  /** Keeps what is there for another time; nothing where nothing is. */
  async close(): Promise<void> {
    await this.#file.close();
    if (this.at > 0) return;
    await rm(partOf(this.#path), { force: true });
    await rm(tagOf(this.#path), { force: true });
  }
}
