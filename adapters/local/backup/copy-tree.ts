/**
 * Copies trees of files into a backup. Services may change a tree during the copy, so the walk opens each folder
 * through its open parent and follows no symbolic links. The backup stores a symbolic link in a tenant's folder as a
 * link.
 */
import { constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readdir, readlink } from "node:fs/promises";
import { isTenantPath } from "../data-folder/layout.ts";
import { codeOf, type Folder, isPathMissing } from "../tenant-files/folder.ts";
import type { BackupWriter } from "./backup-writer.ts";
import { type BackupEntry, modifiedOf } from "./format.ts";
import type { LeftOutList } from "./left-out-list.ts";

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

/**
 * The maximum size of a file that the copy reads completely before it writes the header. The header then contains the
 * actual size.
 */
const SMALL_BYTES = 1 << 20;
const PIECE_BYTES = 256 * 1024;
/** The walk holds one file descriptor per level. */
const MAX_DEPTH = 1000;
/** The maximum number of listings of a folder that keeps changing. */
const MAX_LISTINGS = 5;

/** Converts a name to bytes. Each character of a path in a backup is one byte (Latin-1). */
export const bytesOf = (name: string): Buffer => Buffer.from(name, "latin1");

const isUnreadable = (error: unknown): boolean => ["EACCES", "EPERM", "EIO"].includes(codeOf(error) ?? "");

/**
 * Returns the names in the folder. Some file systems may omit a file from a listing while a rename replaces the file.
 * If the folder has changed in the meantime, lists it again and returns the names from all listings.
 */
const namesIn = async (folder: Folder): Promise<string[]> => {
  const names = new Set<string>();
  for (let listings = 0; listings < MAX_LISTINGS; listings++) {
    const before = await folder.handle.stat({ bigint: true });
    for (const name of await readdir(folder.here, { encoding: "buffer" })) names.add(name.toString("latin1"));
    const after = await folder.handle.stat({ bigint: true });
    if (before.mtimeNs === after.mtimeNs && before.ctimeNs === after.ctimeNs) break;
  }
  return [...names].sort();
};

export const entryOf = (
  path: string,
  type: BackupEntry["type"],
  { mode, uid, gid, mtimeMs }: Stats,
  more: Partial<BackupEntry> = {},
): BackupEntry => ({
  path,
  type,
  size: 0,
  target: "",
  mode: mode & 0o777,
  uid,
  gid,
  modified: modifiedOf(mtimeMs),
  ...more,
});

/** Reads `bytes` bytes at `position`. Returns fewer bytes only at the end of the file. */
const read = async (file: FileHandle, bytes: number, position: number): Promise<Buffer> => {
  const buffer = Buffer.allocUnsafe(bytes);
  let done = 0;
  while (done < bytes) {
    const { bytesRead } = await file.read(buffer, done, bytes - done, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return buffer.subarray(0, done);
};

export interface CopyTreeDeps {
  readonly writer: BackupWriter;
  readonly leftOut: LeftOutList;
  readonly signal: AbortSignal;
  /** Called for each copied file. */
  readonly onFile?: (path: string) => void;
}

export class TreeCopy {
  readonly #deps: CopyTreeDeps;

  constructor(deps: CopyTreeDeps) {
    this.#deps = deps;
  }

  /**
   * Copies the tree or file with the given name.
   * @returns false if no such entry exists
   */
  async copy(parent: Folder, name: string, path: string, depth = 0): Promise<boolean> {
    const { leftOut, signal } = this.#deps;
    signal.throwIfAborted();
    try {
      const stats = await lstat(parent.atBytes(bytesOf(name)));
      if (stats.isDirectory()) await this.#copyFolder(parent, name, path, stats, depth);
      else if (stats.isFile()) await this.#copyFile(parent, name, path);
      // The platform creates no links, and a restore accepts none in the platform's own folders.
      else if (stats.isSymbolicLink() && isTenantPath(path)) await this.#copyLink(parent, name, path, stats);
      else leftOut.add("special", path);
    } catch (error) {
      // The entry was removed or replaced after the listing.
      if (isPathMissing(error) || codeOf(error) === "EINVAL") return false;
      if (codeOf(error) !== "ENXIO") throw error;
      leftOut.add("special", path);
    }
    return true;
  }

  async #copyFolder(parent: Folder, name: string, path: string, listed: Stats, depth: number): Promise<void> {
    const { writer, leftOut } = this.#deps;
    await using folder = await this.#open(path, () => parent.enter(bytesOf(name)));
    await writer.entry(entryOf(path, "folder", folder === undefined ? listed : await folder.handle.stat()));
    if (folder === undefined) return;
    if (depth === MAX_DEPTH) leftOut.add("deep", path);
    else for (const inner of await namesIn(folder)) await this.copy(folder, inner, `${path}/${inner}`, depth + 1);
  }

  async #copyFile(parent: Folder, name: string, path: string): Promise<void> {
    const { leftOut, onFile } = this.#deps;
    // Without O_NONBLOCK, opening a pipe that replaced the file would block.
    const flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK;
    await using file = await this.#open(path, () => open(parent.atBytes(bytesOf(name)), flags));
    if (file === undefined) return;
    const stats = await file.stat();
    if (!stats.isFile()) leftOut.add("special", path);
    else if (stats.size <= SMALL_BYTES) await this.#copySmall(file, path, stats);
    else await this.#copyLarge(file, path, stats);
    onFile?.(path);
  }

  async #copySmall(file: FileHandle, path: string, stats: Stats): Promise<void> {
    const { writer } = this.#deps;
    const bytes = await this.#open(path, () => read(file, stats.size, 0));
    if (bytes === undefined) return;
    await writer.entry(entryOf(path, "file", stats, { size: bytes.length }));
    if (bytes.length > 0) await writer.content(bytes);
  }

  async #copyLarge(file: FileHandle, path: string, stats: Stats): Promise<void> {
    const { writer, leftOut, signal } = this.#deps;
    const { size } = stats;
    await writer.entry(entryOf(path, "file", stats, { size }));
    for (let at = 0, hasShrunk = false; at < size; ) {
      signal.throwIfAborted();
      const wanted = Math.min(PIECE_BYTES, size - at);
      const bytes = hasShrunk ? Buffer.alloc(wanted) : await read(file, wanted, at);
      at += bytes.length;
      if (bytes.length > 0) await writer.content(bytes);
      if (bytes.length === wanted || hasShrunk) continue;
      hasShrunk = true;
      leftOut.add("shrunk", path);
    }
  }

  async #copyLink(parent: Folder, name: string, path: string, stats: Stats): Promise<void> {
    const target = await readlink(parent.atBytes(bytesOf(name)), { encoding: "buffer" });
    await this.#deps.writer.entry(entryOf(path, "link", stats, { target: target.toString("latin1") }));
  }

  /** Adds an unreadable path to the list of left-out files instead of failing. */
  async #open<T>(path: string, act: () => Promise<T>): Promise<T | undefined> {
    try {
      return await act();
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      this.#deps.leftOut.add("unreadable", path);
      return undefined;
    }
  }
}
