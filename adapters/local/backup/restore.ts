/**
 * `portside restore` creates a data folder from a backup. It unpacks and checks everything in a folder next to the
 * target, and then renames that folder to the target.
 */
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import { createReadStream, lstatSync, readdirSync, realpathSync, statSync } from "node:fs";
import { chmod, chown, mkdir, rename, rm } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { pipeline } from "node:stream";
import { promisify } from "node:util";
import { createGunzip } from "node:zlib";
import { DataFolderError, explainFileError } from "../data-folder/data-folder-error.ts";
import { KEY_FILE, restoreFolderOf } from "../data-folder/layout.ts";
import { syncFolder } from "../state/check-file.ts";
import { openState } from "../state/database.ts";
import { inspectState, STATE_FILE } from "../state/inspect.ts";
import { LOCK_FILE, type Lock, lockUnusedFolder } from "../state/lock-data-dir.ts";
import { SecretRows } from "../state/secrets.ts";
import { SettingRows } from "../state/settings.ts";
import { codeOf, openRoot } from "../tenant-files/folder.ts";
import { BackupError } from "./backup-error.ts";
import type { BackupEnd, BackupEntry, BackupHead } from "./format.ts";
import { BadBackup, DAMAGED, NewerBackup, readBackup } from "./read-backup.ts";
import { TreeUnpacker } from "./unpack-tree.ts";
import { openWorkFolder } from "./work-folder.ts";

export interface RestoreOptions {
  readonly file: string;
  readonly dataDir: string;
  /** Whether to replace a data folder that has content. The restore renames the old folder. */
  readonly replace?: boolean;
  readonly signal?: AbortSignal;
  /** Called with the number of bytes that the restore has read from the file since the last call. */
  readonly onProgress?: (bytes: number) => void;
}

export interface RestoreSummary {
  readonly dataDir: string;
  readonly deployments: number;
  readonly volumes: number;
  readonly objects: number;
  /** The time of the backup as an RFC 3339 timestamp. */
  readonly createdAt: string;
  /** The new path of the replaced folder; undefined if no folder was replaced. */
  readonly kept: string | undefined;
  /** The path at which the server needs the secrets key; undefined if the key is there, or no secrets are stored. */
  readonly missingKey: string | undefined;
}

const explain = (file: string, bad: BadBackup): BackupError => {
  const { message, cause } = bad;
  const step = bad instanceof NewerBackup ? "Restore it with that version." : "Restore another file.";
  return new BackupError(file, `${file} ${message}. Nothing was changed. ${step}`, cause);
};

const exists = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false }) !== undefined;

class Restore {
  readonly #file: string;
  /** The absolute path of the data folder, which may contain symbolic links. */
  readonly #named: string;
  /** The same path with symbolic links resolved. */
  readonly #target: string;
  readonly #options: RestoreOptions;

  constructor(options: RestoreOptions, target: string) {
    this.#file = resolve(options.file);
    this.#named = resolve(options.dataDir);
    this.#target = target;
    this.#options = options;
  }

  async run(): Promise<RestoreSummary> {
    const lock = this.#claimTarget();
    let kept: string | undefined;
    try {
      await using work = await openWorkFolder(restoreFolderOf(this.#target));
      const data = join(work.path, "data");
      await mkdir(data);
      await chmod(data, 0o700);
      const { head, end } = await this.#unpack(data);
      const needsKey = await this.#finishState(data, head);
      // Flush the content before the renames.
      await promisify(execFile)("sync", ["-f", data]).catch(() => undefined);
      this.#options.signal?.throwIfAborted();
      kept = await this.#swap(data);
      const { deployments, volumes, objects } = end;
      const missingKey = needsKey ? join(this.#named, KEY_FILE) : undefined;
      return { dataDir: this.#named, deployments, volumes, objects, createdAt: head.created_at, kept, missingKey };
    } finally {
      lock?.release();
      // SQLite looks for the lock's journal only at the old path, so the journal would remain in the replaced folder.
      if (kept !== undefined) await rm(join(kept, `${LOCK_FILE}-journal`), { force: true });
    }
  }

  get #hasContent(): boolean {
    return exists(this.#target) && readdirSync(this.#target).length > 0;
  }

  /**
   * Locks an existing data folder. Throws if a server uses the folder, or if the restore cannot or must not replace it.
   */
  #claimTarget(): Lock | undefined {
    const [target, named] = [this.#target, this.#named];
    if (!exists(target)) return undefined;
    if (!statSync(target).isDirectory())
      throw new BackupError(named, `${named} is a file. Choose another folder with --data-dir.`);
    const inUse = `A Portside server uses the data folder ${named}. Stop it, or choose another folder with --data-dir.`;
    using stack = new DisposableStack();
    const lock = stack.use(lockUnusedFolder(target, inUse));
    if (statSync(target).dev !== statSync(dirname(target)).dev)
      throw new BackupError(
        named,
        `${named} is the root of a file system and cannot be replaced. Choose a folder in it, such as --data-dir ${join(named, "data")}.`,
      );
    if (this.#hasContent && this.#options.replace !== true)
      throw new BackupError(
        named,
        `${named} is not empty. Choose another folder with --data-dir, or pass --force to rename it and restore in its place.`,
      );
    stack.move();
    return lock;
  }

  async #unpack(data: string): Promise<{ readonly head: BackupHead; readonly end: BackupEnd }> {
    await using root = await openRoot(data);
    const file = createReadStream(this.#file, { highWaterMark: 256 * 1024 });
    file.on("data", (piece) => this.#options.onProgress?.(piece.length));
    const unzipped = pipeline(file, createGunzip({ chunkSize: 256 * 1024 }), () => undefined);
    // `readBackup` reports errors. Without a listener, an error between two reads would end the process.
    unzipped.on("error", () => undefined);
    let head: BackupHead | undefined;
    let unpacker: TreeUnpacker | undefined;
    try {
      const end = await readBackup(unzipped, {
        begin: (found) => {
          head = found;
          const moved = { from: found.data_dir, to: this.#named };
          unpacker = new TreeUnpacker(root, { moved, ownerOf: this.#ownersIn(found) });
        },
        entry: async (entry, content) => {
          this.#options.signal?.throwIfAborted();
          await unpacker?.entry(entry, content);
        },
      });
      await unpacker?.end();
      return { head: head as BackupHead, end };
    } finally {
      await unpacker?.close();
      file.destroy();
      unzipped.destroy();
    }
  }

  /**
   * Returns a function that chooses the owner of an entry. Only root can set owners. The platform's files get the owner
   * of the target folder, or root if the folder does not exist. If that owner is root, tenant files keep their owners.
   * Otherwise, all files get that owner, because a server without root cannot run accounts as separate users.
   */
  #ownersIn({ uid }: BackupHead) {
    const { uid: owner, gid } = exists(this.#target) ? statSync(this.#target) : { uid: 0, gid: 0 };
    return (entry: BackupEntry, isTenants: boolean) => {
      if (process.geteuid?.() !== 0) return undefined;
      const isPlatforms = owner !== 0 || !isTenants || entry.uid === uid;
      return isPlatforms ? { uid: owner, gid } : { uid: entry.uid, gid: entry.gid };
    };
  }

  /**
   * Checks the state, and writes the check file that a server compares with the state. Returns true if the state has
   * secrets but the folder lacks their key.
   */
  async #finishState(data: string, head: BackupHead): Promise<boolean> {
    let needsKey = false;
    if (inspectState(join(data, STATE_FILE), true).state.kind !== "whole") throw new BadBackup(DAMAGED);
    try {
      using db = openState(data, { acceptState: true });
      needsKey = !exists(join(data, KEY_FILE)) && new SecretRows(db).all().length > 0;
      // Two servers on one machine with the same scope would end each other's processes.
      if (head.data_dir !== this.#named) new SettingRows(db).set("scope", randomUUID().replaceAll("-", ""));
    } catch (error) {
      if (!(error instanceof DataFolderError) || error.kind !== "newer_version") throw error;
      throw new NewerBackup("contains the state of a newer Portside", { cause: error });
    }
    const owner = this.#ownersIn(head)({ uid: head.uid } as BackupEntry, false);
    if (owner === undefined) return needsKey;
    for (const name of ["", ...readdirSync(data)]) await chown(join(data, name), owner.uid, owner.gid);
    return needsKey;
  }

  /** @returns the new path of the replaced folder; undefined if there was none */
  async #swap(data: string): Promise<string | undefined> {
    const kept = this.#hasContent
      ? `${this.#target}.before-${new Date().toISOString().replaceAll(":", "-")}`
      : undefined;
    if (kept !== undefined) await rename(this.#target, kept);
    try {
      // `rename` also replaces an empty folder.
      await rename(data, this.#target);
    } catch (error) {
      if (kept !== undefined) await rename(kept, this.#target);
      if (!["ENOTEMPTY", "EEXIST"].includes(codeOf(error) ?? "")) throw error;
      throw new BackupError(
        this.#named,
        `${this.#named} received files during the restore. Nothing was changed. Try again.`,
      );
    }
    syncFolder(dirname(this.#target));
    return kept;
  }
}

/**
 * Creates a data folder from a file that `backupDataFolder` wrote. Checks the whole file before it changes the target.
 * Renames the folder that the new folder replaces.
 *
 * Throws a `BackupError` if the file is not a complete backup, or if the folder has content and `replace` is not set.
 * Throws a `DataFolderError` of kind `in_use` if a server uses the folder.
 */
export const restoreDataFolder = async (options: RestoreOptions): Promise<RestoreSummary> => {
  const [file, named] = [resolve(options.file), resolve(options.dataDir)];
  try {
    if (!exists(file))
      throw new BackupError(file, `${file} does not exist. Name the file that 'portside backup' wrote.`);
    await mkdir(dirname(named), { recursive: true });
    const target = exists(named) ? realpathSync(named) : join(realpathSync(dirname(named)), basename(named));
    return await new Restore(options, target).run();
  } catch (error) {
    if (error instanceof BadBackup) throw explain(file, error);
    throw explainFileError(error, named) ?? error;
  }
};
