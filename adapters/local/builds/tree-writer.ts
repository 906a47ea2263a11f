/** Writes the entries of an archive below a folder, with blocking calls. */
import { chmodSync, closeSync, constants, fchmodSync, mkdirSync, openSync, unlinkSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import type { TarEntry, TarVisitor } from "../../shared/archives/tar/reader.ts";
import { codeOf } from "../tenant-files/folder.ts";

const NEW_FILE = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
const FOLDER_MODE = 0o755;

/**
 * No other code may write to the folder while an archive is being unpacked. The caller must check the paths of the
 * entries first.
 */
export class TreeWriter implements TarVisitor {
  readonly #root: string;
  #file: { readonly descriptor: number; left: number } | undefined;

  constructor(root: string) {
    this.#root = root;
  }

  entry({ path, type, size, executable }: TarEntry): void {
    const at = join(this.#root, path);
    if (type === "folder") return this.#makeFolder(at);
    const descriptor = this.#create(at);
    // Removes special bits such as set-user-id, and ignores the umask.
    fchmodSync(descriptor, executable ? 0o755 : 0o644);
    if (size === 0) closeSync(descriptor);
    else this.#file = { descriptor, left: size };
  }

  content(bytes: Buffer): void {
    if (this.#file === undefined) return;
    for (let at = 0; at < bytes.length; ) at += writeSync(this.#file.descriptor, bytes, at);
    this.#file.left -= bytes.length;
    if (this.#file.left > 0) return;
    closeSync(this.#file.descriptor);
    this.#file = undefined;
  }

  /** Closes a partially written file. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file.descriptor);
    this.#file = undefined;
  }

  #create(at: string): number {
    try {
      return openSync(at, NEW_FILE, 0o600);
    } catch (error) {
      // If an archive contains a path twice, the later file replaces the earlier one.
      if (codeOf(error) === "EEXIST") unlinkSync(at);
      else if (codeOf(error) === "ENOENT") this.#makeFolder(dirname(at));
      else throw error;
      return openSync(at, NEW_FILE, 0o600);
    }
  }

  #makeFolder(at: string): void {
    try {
      mkdirSync(at);
    } catch (error) {
      if (codeOf(error) === "EEXIST") return;
      // Never recreate the root: if it is missing, the unpacking was abandoned.
      if (codeOf(error) !== "ENOENT" || dirname(at) === this.#root) throw error;
      this.#makeFolder(dirname(at));
      mkdirSync(at);
    }
    chmodSync(at, FOLDER_MODE);
  }
}
