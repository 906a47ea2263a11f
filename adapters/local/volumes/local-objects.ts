/**
 * Stores objects as files in a volume's folder. Writes an upload to a file outside the volume, flushes the file, and
 * then moves it into the volume, so no URL or mount shows a partial object.
 */
import { type BigIntStats, constants } from "node:fs";
import { type FileHandle, link, lstat, mkdir, open, readdir, rename, rm, rmdir, unlink } from "node:fs/promises";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { ObjectPath } from "../../../core/domain/volumes/object-path.ts";
import type { StoredPart } from "../../../core/domain/volumes/upload-parts.ts";
import { type Instant, instantOfMillis, timestampOf } from "../../../core/domain/wire/instant.ts";
import type { Ids, Logger } from "../../../core/ports/system.ts";
import type { ObjectEntry, ObjectListing, ObjectQuery } from "../../../core/ports/volume-store.ts";
import { KeyedMutex } from "../../shared/runtime/keyed-mutex.ts";
import {
  type CompleteOutcome,
  conditionsHold,
  type FoundObject,
  type ListedPart,
  type ObjectBytes,
  type PartOutcome,
  type PutOutcome,
  type WriteConditions,
} from "../../shared/volumes/object-bytes.ts";
import type { UserOf } from "../sandbox/users/account-users.ts";
import { codeOf, descend, type Folder, isPathMissing, NotAFolder, openRoot } from "../tenant-files/folder.ts";
import { listFolder } from "./list-folder.ts";
import { CHUNK_BYTES, etagOf, receive } from "./object-file.ts";
import { PartChanged, PartFiles } from "./part-files.ts";

export interface ObjectsConfig {
  /** Contains the folders of volumes and, on the same file system, the unfinished uploads. */
  readonly storage: string;
  readonly volumes: {
    /** Whether the bucket belongs to a live volume. */
    isLive(bucket: string): boolean;
    ownerOf(bucket: string): AccountId | undefined;
  };
  readonly userOf: UserOf;
  readonly ids: Ids;
  readonly logger: Logger;
}

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

const split = (path: string): { parts: string[]; name: string } => {
  const parts = path.split("/");
  const name = parts.pop() as string;
  return { parts, name };
};

/** Returns true for errors that occur if a service changes the folders of the path concurrently. */
const isDisturbed = (error: unknown): boolean =>
  isPathMissing(error) || ["EISDIR", "ENOTEMPTY", "EACCES", "EPERM", "EBUSY", "ESTALE"].includes(codeOf(error) ?? "");

/** The number of attempts to commit an upload before the client must try again. */
const COMMITS = 5;

/** Returns undefined if the error means that no file exists at the path. Rethrows all other errors. */
const orNothing = (error: unknown): undefined => {
  if (isPathMissing(error) || error instanceof NotAFolder || ["EISDIR", "ENXIO"].includes(codeOf(error) ?? ""))
    return undefined;
  throw error;
};

const found = (handle: FileHandle, stats: BigIntStats): FoundObject => ({
  size: Number(stats.size),
  etag: etagOf(stats),
  modified: Number(stats.mtimeMs),
  bytes: (start, end) => handle.createReadStream({ start, end, highWaterMark: CHUNK_BYTES }),
  close: () => handle.close(),
});

/** Removes a tree of empty folders. Returns false if the tree contains a file. */
const removeEmpty = async (folder: Folder, name: Buffer): Promise<boolean> => {
  {
    await using inner = await folder.enter(name);
    // Services may choose names that are not UTF-8.
    for (const entry of await readdir(inner.here, { withFileTypes: true, encoding: "buffer" }))
      if (!entry.isDirectory() || !(await removeEmpty(inner, entry.name))) return false;
  }
  await rmdir(folder.atBytes(name));
  return true;
};

export class LocalObjects implements ObjectBytes {
  readonly #config: ObjectsConfig;
  readonly #volumes: string;
  readonly #uploads: string;
  readonly #parts: PartFiles;
  readonly #commits = new KeyedMutex();
  readonly #completions = new KeyedMutex();

  constructor(config: ObjectsConfig) {
    this.#config = config;
    this.#volumes = join(config.storage, "volumes");
    this.#uploads = join(config.storage, "uploads");
    this.#parts = new PartFiles(join(config.storage, "parts"));
  }

  /** Creates the folders, and deletes interrupted uploads. Keeps the parts of multipart uploads, which can resume. */
  async open(): Promise<void> {
    await rm(this.#uploads, { recursive: true, force: true });
    const folders = [this.#uploads, this.#volumes, this.#parts.folder];
    await Promise.all(folders.map((path) => mkdir(path, { recursive: true, mode: 0o700 })));
  }

  folderOf(bucket: string): string {
    return join(this.#volumes, bucket);
  }

  /** Creates the folder of a new volume. @param user the folder's owner; undefined for this process's user */
  async make(bucket: string, user: number | undefined): Promise<void> {
    await mkdir(this.folderOf(bucket), { mode: 0o755 });
    if (user === undefined) return;
    await using root = await this.root(bucket);
    await root.handle.chown(user, user);
  }

  /** Opens the volume's folder. Rejects if the folder does not exist. */
  root(bucket: string): Promise<Folder> {
    return openRoot(this.folderOf(bucket));
  }

  async find(bucket: string, path: ObjectPath): Promise<FoundObject | undefined> {
    if (!this.#config.volumes.isLive(bucket)) return undefined;
    const handle = await this.#open(bucket, path).catch(orNothing);
    if (handle === undefined) return undefined;
    const stats = await handle.stat({ bigint: true });
    if (stats.isFile()) return found(handle, stats);
    await handle.close();
    return undefined;
  }

  async stat(bucket: string, path: ObjectPath): Promise<ObjectEntry | undefined> {
    const object = await this.find(bucket, path);
    if (object === undefined) return undefined;
    await object.close();
    return { path, size: object.size, updated: timestampOf(instantOfMillis(object.modified)) };
  }

  async list(bucket: string, query: ObjectQuery): Promise<ObjectListing> {
    await using root = await this.root(bucket);
    return await listFolder(root, query);
  }

  /** Returns false if the object does not exist. */
  async remove(bucket: string, path: ObjectPath): Promise<boolean> {
    const { parts, name } = split(path);
    await using root = await this.root(bucket);
    try {
      await using folder = await descend(root, parts, false);
      if (!(await lstat(folder.at(name))).isFile()) return false;
      await unlink(folder.at(name));
      await folder.sync();
      return true;
    } catch (error) {
      orNothing(error);
      return false;
    }
  }

  async put(bucket: string, path: ObjectPath, body: Readable, conditions: WriteConditions): Promise<PutOutcome> {
    if (!this.#config.volumes.isLive(bucket)) return { kind: "no_volume" };
    // `#commit` checks again. This check avoids a useless upload.
    if (!(await this.#conditionsHold(bucket, path, conditions))) return { kind: "condition_failed" };
    const partial = join(this.#uploads, this.#config.ids.id());
    try {
      await receive(partial, body, this.#userOf(bucket));
      const signal = new AbortController().signal;
      return await this.#commits.take(`${bucket}/${path}`, signal, () =>
        this.#commit(partial, bucket, path, conditions),
      );
    } finally {
      await rm(partial, { force: true });
    }
  }

  /** Begins an upload in parts, and returns its id. */
  beginUpload(bucket: string, path: ObjectPath, startedAt: Instant): Promise<string> {
    return this.#parts.begin(bucket, path, startedAt, this.#config.ids.id());
  }

  /** Returns the parts of an upload; undefined if the object has no such upload. */
  storedParts(bucket: string, path: ObjectPath, upload: string): Promise<StoredPart[] | undefined> {
    return this.#parts.stored(bucket, path, upload);
  }

  /** Counts the incomplete multipart uploads of a volume. */
  async countUploads(bucket: string, now: Instant): Promise<number> {
    const uploads = await this.#parts.list();
    return uploads.filter((one) => one.bucket === bucket && one.expiresAt > now).length;
  }

  /** Deletes the incomplete multipart uploads of a volume. */
  async removeUploads(bucket: string): Promise<void> {
    for (const one of await this.#parts.list()) if (one.bucket === bucket) await this.#parts.remove(one.id);
  }

  /**
   * Deletes incomplete uploads that have expired or whose volume was deleted. Waits for an upload that is being
   * completed, so the process that completes uploads must call this method.
   */
  async sweepUploads(now: Instant): Promise<void> {
    const { signal } = new AbortController();
    await this.#parts.sweepRemoved();
    for (const { id, bucket, expiresAt } of await this.#parts.list())
      if (expiresAt <= now || !this.#config.volumes.isLive(bucket))
        await this.#completions.take(id, signal, () => this.#parts.remove(id));
  }

  async putPart(
    bucket: string,
    path: ObjectPath,
    upload: string,
    number: number,
    body: Readable,
  ): Promise<PartOutcome> {
    if (!this.#config.volumes.isLive(bucket)) return { kind: "no_upload" };
    const partial = join(this.#uploads, this.#config.ids.id());
    try {
      await receive(partial, body, undefined);
      const etag = await this.#parts.add(bucket, path, upload, number, partial);
      return etag === undefined ? { kind: "no_upload" } : { kind: "stored", etag };
    } finally {
      await rm(partial, { force: true });
    }
  }

  complete(
    bucket: string,
    path: ObjectPath,
    upload: string,
    listed: readonly ListedPart[],
    size: number,
    conditions: WriteConditions,
  ): Promise<CompleteOutcome> {
    const signal = new AbortController().signal;
    // Concurrent calls wait for each other, so only the first one finds the upload.
    return this.#completions.take(upload, signal, async () => {
      if (!this.#config.volumes.isLive(bucket)) return { kind: "no_volume" };
      const stored = await this.#parts.stored(bucket, path, upload);
      if (stored === undefined) return { kind: "no_upload" };
      const parts = new Map(stored.map((part) => [part.number, part]));
      const missing = listed.find(({ number, etag }) => parts.get(number)?.etag !== etag);
      if (missing !== undefined) return { kind: "invalid_part", number: missing.number };
      const total = listed.reduce((sum, { number }) => sum + (parts.get(number)?.size ?? 0), 0);
      if (total !== size) return { kind: "wrong_size", size: total };
      const body = Readable.from(this.#parts.read(upload, listed));
      try {
        const outcome = await this.put(bucket, path, body, conditions);
        if (outcome.kind === "stored") await this.#discard(upload);
        return outcome;
      } catch (error) {
        if (!(error instanceof PartChanged)) throw error;
        const remains = (await this.#parts.stored(bucket, path, upload)) !== undefined;
        return remains ? { kind: "invalid_part", number: error.number } : { kind: "no_upload" };
      } finally {
        body.destroy();
      }
    });
  }

  /** Deletes a complete upload. Only logs a failure, because the object is stored. */
  async #discard(upload: string): Promise<void> {
    try {
      await this.#parts.remove(upload);
    } catch (cause) {
      this.#config.logger.warn("could not delete the parts of a complete upload; the sweep deletes them", {
        upload,
        cause,
      });
    }
  }

  /** The user that owns the volume's files; undefined for this process's user. */
  #userOf(bucket: string): number | undefined {
    const owner = this.#config.volumes.ownerOf(bucket);
    return owner === undefined ? undefined : this.#config.userOf(owner);
  }

  async #open(bucket: string, path: ObjectPath): Promise<FileHandle> {
    const { parts, name } = split(path);
    await using root = await this.root(bucket);
    // `folder` may be `root`. Closing a handle twice is harmless.
    await using folder = await descend(root, parts, false);
    // Without O_NONBLOCK, opening a pipe that a service created would block.
    return await open(folder.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  }

  async #conditionsHold(bucket: string, path: ObjectPath, conditions: WriteConditions): Promise<boolean> {
    if (conditions.ifMatch === undefined && conditions.ifNoneMatch === undefined) return true;
    const present = await this.find(bucket, path);
    await present?.close();
    return conditionsHold(conditions, present?.etag);
  }

  async #commit(partial: string, bucket: string, path: ObjectPath, conditions: WriteConditions): Promise<PutOutcome> {
    for (let tries = 1; ; tries++)
      try {
        return await this.#commitOnce(partial, bucket, path, conditions);
      } catch (error) {
        if (!isDisturbed(error)) throw error;
        if (tries === COMMITS) return { kind: "busy", cause: error };
      }
  }

  async #commitOnce(
    partial: string,
    bucket: string,
    path: ObjectPath,
    conditions: WriteConditions,
  ): Promise<PutOutcome> {
    if (!this.#config.volumes.isLive(bucket)) return { kind: "no_volume" };
    if (!(await this.#conditionsHold(bucket, path, conditions))) return { kind: "condition_failed" };
    const { parts, name } = split(path);
    await using root = await this.root(bucket);
    try {
      await using folder = await descend(root, parts, true, this.#userOf(bucket));
      const before = await lstat(folder.at(name)).catch(orNothing);
      if (before?.isDirectory() === true && !(await removeEmpty(folder, Buffer.from(name))))
        return { kind: "in_the_way", other: await this.#firstBelow(root, path) };
      // Read the etag before the rename, because a service may remove the object immediately afterwards.
      const etag = etagOf(await lstat(partial, { bigint: true }));
      // A service may create the object concurrently. Unlike `rename`, `link` does not replace a file.
      if (conditions.ifNoneMatch === "*") await link(partial, folder.at(name));
      else await rename(partial, folder.at(name));
      await folder.sync();
      return { kind: "stored", etag, created: before === undefined || before.isDirectory() };
    } catch (error) {
      if (error instanceof NotAFolder) return { kind: "in_the_way", other: error.at };
      if (codeOf(error) === "EEXIST") return { kind: "condition_failed" };
      throw error;
    }
  }

  async #firstBelow(root: Folder, path: ObjectPath): Promise<string> {
    const { objects } = await listFolder(root, { prefix: `${path}/`, limit: 1 });
    return objects[0]?.path ?? `${path}/`;
  }
}
