/**
 * Lists all files of a folder to upload, without ignore rules. Follows links within the folder. If some files cannot be
 * uploaded, fails before the first upload with a list of them.
 */
import { createReadStream, type Dirent, type Stats } from "node:fs";
import { type FileHandle, readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";
import { objectPathProblem } from "../../../../core/domain/volumes/object-path.ts";
import { isOutside } from "../../deploy/source-files.ts";
import { CommandError } from "../../terminal/io.ts";
import type { PlannedUpload, SizedSource } from "./source.ts";

const PIECE = 1 << 18;

/** Returns a source of a known size. `read` yields the bytes from `start` to `end`, inclusive. */
export const sizedSource = (
  name: string,
  size: number,
  read: (bytes: { readonly start: number; readonly end: number }) => AsyncIterable<Uint8Array>,
): SizedSource => ({
  name,
  size,
  open: ({ offset, length } = { offset: 0, length: size }) =>
    length === 0 ? (async function* () {})() : read({ start: offset, end: offset + length - 1 }),
});

/**
 * Returns a file as a source of its current size. An upload omits bytes that are appended later.
 * @param path absolute
 */
export const fileSource = (name: string, path: string, { size, mtimeMs }: Stats): SizedSource => ({
  ...sizedSource(name, size, (bytes) => createReadStream(path, { ...bytes, highWaterMark: PIECE })),
  version: [path, String(size), String(mtimeMs)],
});

/** Returns an open file as a source. Does not close it. */
export const openedSource = (name: string, handle: FileHandle, size: number): SizedSource =>
  sizedSource(name, size, async function* ({ start, end }) {
    for (let at = start; at <= end; ) {
      const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(Math.min(PIECE, end + 1 - at)), {
        position: at,
      });
      if (bytesRead === 0) return;
      yield buffer.subarray(0, bytesRead);
      at += bytesRead;
    }
  });

class Walk {
  readonly uploads: PlannedUpload[] = [];
  readonly problems: string[] = [];
  readonly #root: string;
  readonly #prefix: string;
  /** The current folder and its ancestors, to detect cyclic links. */
  readonly #ancestors: string[] = [];

  constructor(root: string, prefix: string) {
    this.#root = root;
    this.#prefix = prefix;
  }

  async folder(path: string, real: string): Promise<void> {
    if (this.#ancestors.includes(real)) return this.#reject(path, "is a link to one of its parent folders");
    this.#ancestors.push(real);
    const entries = await readdir(real, { withFileTypes: true });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1)))
      await this.#entry(path === "" ? entry.name : `${path}/${entry.name}`, entry);
    this.#ancestors.pop();
  }

  async #entry(path: string, entry: Dirent): Promise<void> {
    const real = await realpath(join(this.#root, path)).catch(() => undefined);
    if (real === undefined)
      return this.#reject(
        path,
        entry.isSymbolicLink()
          ? "is a broken link"
          : "cannot be found, for example because its name is not valid UTF-8",
      );
    if (isOutside(this.#root, real)) return this.#reject(path, "is a link to a path outside the folder");
    const target = await stat(real);
    if (target.isDirectory()) return this.folder(path, real);
    if (!target.isFile()) return this.#reject(path, "is neither a file nor a folder");
    const objectPath = this.#prefix + path;
    const problem = objectPathProblem(objectPath);
    if (problem !== undefined) return this.#reject(path, `is not a valid object path: ${problem}`);
    this.uploads.push({ path: objectPath, source: fileSource(path, real, target) });
  }

  #reject(path: string, why: string): void {
    this.problems.push(`  '${path}' ${why}`);
  }
}

const SHOWN = 20;

/** @param prefix the prefix of the object paths */
export const folderFiles = async (folder: string, prefix: string): Promise<readonly PlannedUpload[]> => {
  const root = await realpath(folder);
  const walk = new Walk(root, prefix);
  await walk.folder("", root);
  const { uploads, problems } = walk;
  if (problems.length > 0) {
    const more = problems.length > SHOWN ? [`  and ${problems.length - SHOWN} more`] : [];
    const lines = [...problems.slice(0, SHOWN), ...more].join("\n");
    throw new CommandError(`Nothing was uploaded. Rename, move or delete these files first:\n${lines}`);
  }
  if (uploads.length === 0) throw new CommandError(`'${folder}' has no files to upload.`);
  return uploads;
};
