/**
 * A partial download, stored in `NAME.part`. A second file stores the object's ETag, so that a later `get` can resume
 * the download. A complete download is renamed to NAME.
 */
import { constants, existsSync, readFileSync } from "node:fs";
import { type FileHandle, mkdir, open, rename, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { CommandError } from "../../terminal/io.ts";
import type { Sink } from "./download.ts";

export const partOf = (path: string): string => `${path}.part`;
export const tagOf = (path: string): string => `${path}.part.etag`;

/** Converts file system errors to readable messages. */
const withFileErrors = async <T>(path: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error) || !("syscall" in error)) throw error;
    throw new CommandError(`Cannot write '${path}': ${error.message}.`);
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

  /** @param path the name of the complete file */
  static open(path: string): Promise<PartFile> {
    return withFileErrors(path, async () => {
      const tag = readTag(path);
      if (tag === undefined && existsSync(partOf(path)))
        throw new CommandError(`'${partOf(path)}' exists, but no earlier 'get' created it. Move it to another folder.`);
      await mkdir(dirname(path), { recursive: true });
      // Create the tag file before the part file, because a part file without a tag file counts as another program's.
      if (tag === undefined) await writeFile(tagOf(path), "");
      const part = new PartFile(path, await open(partOf(path), constants.O_RDWR | constants.O_CREAT));
      part.at = tag ? (await part.#file.stat()).size : 0;
      part.etag = tag || undefined;
      return part;
    });
  }

  begin(etag: string | undefined): Promise<void> {
    return withFileErrors(this.#path, async () => {
      this.at = 0;
      this.etag = undefined;
      // Deletes the earlier object's bytes before its tag, so that a tag never describes another object's bytes.
      await this.#file.truncate(0);
      await writeFile(tagOf(this.#path), etag ?? "");
      this.etag = etag;
    });
  }

  write(bytes: Uint8Array): Promise<void> {
    return withFileErrors(this.#path, async () => {
      // Writes at an offset instead of appending, so two commands that fetch the same object produce the same file.
      for (let done = 0; done < bytes.length; ) {
        const { bytesWritten } = await this.#file.write(bytes, done, bytes.length - done, this.at);
        done += bytesWritten;
        this.at += bytesWritten;
      }
    });
  }

  /**
   * Renames the file to its final name, and gives it the object's modification time. Throws if a file of that name
   * exists and `replaces` is false.
   */
  finish(modified: Date | undefined, replaces: boolean): Promise<void> {
    return withFileErrors(this.#path, async () => {
      if (modified !== undefined) await this.#file.utimes(new Date(), modified);
      await this.#file.close();
      if (!replaces && existsSync(this.#path))
        throw new CommandError(`Another program created '${this.#path}' during the download. Replace it with --force.`);
      await rename(partOf(this.#path), this.#path);
      await rm(tagOf(this.#path), { force: true });
    });
  }

  /** Keeps a partial download for a later `get`. Deletes an empty one. */
  async close(): Promise<void> {
    await this.#file.close();
    if (this.at > 0) return;
    await rm(partOf(this.#path), { force: true });
    await rm(tagOf(this.#path), { force: true });
  }
}
