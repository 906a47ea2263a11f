/**
 * Writes the entries of a backup to a new folder. The backup is untrusted, so every step starts from an open folder,
 * follows no symbolic link and replaces nothing. Links are allowed only in folders that tenant code can write to.
 */
import { constants } from "node:fs";
import { type FileHandle, lchown, mkdir, open, symlink } from "node:fs/promises";
import { backupRuleOf, isTenantPath } from "../data-folder/layout.ts";
import { codeOf, type Folder, isPathMissing } from "../tenant-files/folder.ts";
import { bytesOf } from "./copy-tree.ts";
import type { BackupEntry } from "./format.ts";
import { BadBackup } from "./read-backup.ts";

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
const NEW_FILE = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW;

/**
 * The maximum size of a file in which the restore replaces the path of the data folder. Larger files do not contain it.
 */
const REWRITTEN_BYTES = 256 * 1024;
const IMAGE = /^images\/[^/]+\/[^/]+\/image\.json$/;
const SCRIPT = /^cache\/[^/]+\/venvs\/[^/]+\/(env\/)?bin\/[^/]+$/;

/** A folder that stays open because the next entries may be in it. */
interface Level {
  readonly name: string;
  readonly folder: Folder;
  /** Undefined if the folder already has its attributes. */
  readonly entry: BackupEntry | undefined;
}

export interface UnpackOptions {
  /** Returns the owner of the restored entry; undefined if this process cannot set owners. */
  readonly ownerOf: (
    entry: BackupEntry,
    isTenants: boolean,
  ) => { readonly uid: number; readonly gid: number } | undefined;
  /** The old and new path of the data folder. Image manifests and Python scripts contain the path. */
  readonly moved: { readonly from: string; readonly to: string };
}

const refuse = (path: string, what: string): never => {
  throw new BadBackup(`has an invalid entry: ${JSON.stringify(Buffer.from(path, "latin1").toString())} ${what}`);
};

const check = ({ path, type }: BackupEntry): void => {
  // The table of rules lists the content of this folder, but not the folder itself.
  const rule = path === "storage" ? "own" : backupRuleOf(path);
  if (rule === undefined || rule === "left out") refuse(path, "is not part of a data folder");
  if (type === "link" && !(isTenantPath(path) && isTenantPath(path.slice(0, path.lastIndexOf("/")))))
    refuse(path, "is a link");
};

const isZero = (bytes: Buffer): boolean => bytes[0] === 0 && bytes.subarray(1).equals(bytes.subarray(0, -1));

export class TreeUnpacker {
  readonly #root: Folder;
  readonly #options: UnpackOptions;
  #open: Level[] = [];

  constructor(root: Folder, options: UnpackOptions) {
    this.#root = root;
    this.#options = options;
  }

  async entry(entry: BackupEntry, content: AsyncIterable<Buffer>): Promise<void> {
    check(entry);
    const names = entry.path.split("/");
    const name = names.pop() as string;
    try {
      const parent = await this.#enter(names);
      if (entry.type === "folder") await this.#makeFolder(parent, name, entry);
      else if (entry.type === "link") await this.#makeLink(parent, name, entry);
      else await this.#makeFile(parent, name, entry, content);
    } catch (error) {
      if (codeOf(error) === "EEXIST") refuse(entry.path, "occurs twice");
      if (isPathMissing(error)) refuse(entry.path, "comes before its folder");
      throw error;
    }
  }

  /** Sets the attributes of the open folders. */
  async end(): Promise<void> {
    await this.#leave(0);
  }

  async close(): Promise<void> {
    for (const { folder } of this.#open) await folder.close();
    this.#open = [];
  }

  async #enter(names: readonly string[]): Promise<Folder> {
    let same = 0;
    while (same < names.length && this.#open[same]?.name === names[same]) same++;
    await this.#leave(same);
    for (const name of names.slice(same)) {
      const folder = await this.#here().enter(bytesOf(name));
      this.#open.push({ name, folder, entry: undefined });
    }
    return this.#here();
  }

  #here(): Folder {
    return this.#open.at(-1)?.folder ?? this.#root;
  }

  async #leave(depth: number): Promise<void> {
    while (this.#open.length > depth) {
      const { folder, entry } = this.#open.pop() as Level;
      await using closed = folder;
      if (entry !== undefined) await this.#finish(closed.handle, entry, 0o700);
    }
  }

  /** Sets the owner before the mode, because changing the owner clears bits of the mode. */
  async #finish(handle: FileHandle, entry: BackupEntry, ownMode: number): Promise<void> {
    const isTenants = isTenantPath(entry.path);
    const owner = this.#options.ownerOf(entry, isTenants);
    if (owner !== undefined) await handle.chown(owner.uid, owner.gid);
    await handle.chmod(isTenants ? entry.mode : ownMode);
    await handle.utimes(entry.modified / 1000, entry.modified / 1000);
  }

  async #makeFolder(parent: Folder, name: string, entry: BackupEntry): Promise<void> {
    await mkdir(parent.atBytes(bytesOf(name)), { mode: 0o700 });
    this.#open.push({ name, folder: await parent.enter(bytesOf(name)), entry });
  }

  async #makeLink(parent: Folder, name: string, entry: BackupEntry): Promise<void> {
    const path = parent.atBytes(bytesOf(name));
    await symlink(bytesOf(entry.target), path);
    const owner = this.#options.ownerOf(entry, true);
    if (owner !== undefined) await lchown(path, owner.uid, owner.gid);
  }

  async #makeFile(parent: Folder, name: string, entry: BackupEntry, content: AsyncIterable<Buffer>): Promise<void> {
    await using file = await open(parent.atBytes(bytesOf(name)), NEW_FILE, 0o600);
    if (this.#namesFolder(entry)) {
      const bytes = Buffer.concat(await Array.fromAsync(content));
      await file.writeFile(this.#rewritten(entry, bytes));
    } else {
      let at = 0;
      for await (const piece of content) {
        // Skips pieces that contain only zeros, to keep the file sparse.
        if (!isZero(piece))
          for (let done = 0; done < piece.length; ) {
            const { bytesWritten } = await file.write(piece, done, piece.length - done, at + done);
            done += bytesWritten;
          }
        at += piece.length;
      }
      await file.truncate(at);
    }
    await this.#finish(file, entry, 0o600);
  }

  #namesFolder({ path, size }: BackupEntry): boolean {
    const { from, to } = this.#options.moved;
    return from !== to && size <= REWRITTEN_BYTES && (IMAGE.test(path) || SCRIPT.test(path));
  }

  #rewritten({ path }: BackupEntry, bytes: Buffer): Buffer {
    const { from, to } = this.#options.moved;
    const text = bytes.toString("latin1");
    if (!IMAGE.test(path) && !text.startsWith("#!")) return bytes;
    const inFile = (folder: string) => {
      const written = IMAGE.test(path) ? JSON.stringify(folder).slice(1, -1) : folder;
      return Buffer.from(`${written}/cache/`).toString("latin1");
    };
    return bytesOf(text.replaceAll(inFile(from), () => inFile(to)));
  }
}
