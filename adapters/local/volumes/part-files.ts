/**
 * Stores the parts of uploads as files, in one folder per upload. The name of the folder identifies the volume, the
 * object and the start of the upload, so an upload has no other record. A part gets its name when all its bytes are on
 * disk.
 */
import { createHash } from "node:crypto";
import { lstat, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { ObjectPath } from "../../../core/domain/volumes/object-path.ts";
import { type StoredPart, uploadExpiry } from "../../../core/domain/volumes/upload-parts.ts";
import { type Instant, instantOfSeconds, secondsOf } from "../../../core/domain/wire/instant.ts";
import type { ListedPart } from "../../shared/volumes/object-bytes.ts";
import { isPathMissing } from "../tenant-files/folder.ts";
import { CHUNK_BYTES, etagOf } from "./object-file.ts";

/** The start in seconds, a unique string, a digest of the object, and the volume's id. */
const NAME = /^(\d{1,12})-[A-Za-z0-9]+-([0-9a-f]{32})-([\w-]+)$/;
/** The suffix of the folder of a deleted upload. */
const REMOVED = ".removed";
const PART = /^[1-9]\d{0,4}$/;

const digestOf = (bucket: string, path: ObjectPath): string =>
  createHash("sha256").update(`${bucket}/${path}`).digest("hex").slice(0, 32);

/** Returns undefined if the error means that a file or folder does not exist. Rethrows all other errors. */
const orNothing = (error: unknown): undefined => {
  if (isPathMissing(error)) return undefined;
  throw error;
};

/** A listed part changed or disappeared while the upload was being completed. */
export class PartChanged extends Error {
  readonly number: number;

  constructor(number: number) {
    super(`part ${number} changed`);
    this.number = number;
  }
}

/** An upload that is neither complete nor deleted. It may have expired. */
interface Upload {
  readonly id: string;
  /** The volume's id. */
  readonly bucket: string;
  readonly expiresAt: Instant;
}

export class PartFiles {
  readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** @param unique makes the id of the upload unique */
  async begin(bucket: string, path: ObjectPath, startedAt: Instant, unique: string): Promise<string> {
    const id = `${secondsOf(startedAt)}-${unique}-${digestOf(bucket, path)}-${bucket}`;
    await mkdir(join(this.folder, id), { mode: 0o700 });
    return id;
  }

  /** Returns undefined if the object has no such upload. */
  async stored(bucket: string, path: ObjectPath, id: string): Promise<StoredPart[] | undefined> {
    if (!this.#isOf(bucket, path, id)) return undefined;
    const names = await readdir(join(this.folder, id)).catch(orNothing);
    const parts = (names ?? []).filter((name) => PART.test(name)).map((name) => this.#stat(id, name));
    const found = (await Promise.all(parts)).filter((part) => part !== undefined);
    return names === undefined ? undefined : found;
  }

  /**
   * Stores a file as a part. Returns its entity tag, or undefined if the object has no such upload.
   * @param file a complete file on the same file system, which this call moves
   */
  async add(bucket: string, path: ObjectPath, id: string, number: number, file: string): Promise<string | undefined> {
    if (!this.#isOf(bucket, path, id)) return undefined;
    const etag = etagOf(await lstat(file, { bigint: true }));
    const moved = rename(file, join(this.folder, id, String(number))).then(() => etag);
    return await moved.catch(orNothing);
  }

  /**
   * Yields the bytes of the listed parts. Throws `PartChanged` if a part does not exist or has a different entity tag.
   * @param id an upload that exists
   */
  async *read(id: string, parts: readonly ListedPart[]): AsyncGenerator<Buffer> {
    for (const { number, etag } of parts) {
      await using file = await open(join(this.folder, id, String(number))).catch(orNothing);
      if (file === undefined || etagOf(await file.stat({ bigint: true })) !== etag) throw new PartChanged(number);
      yield* file.createReadStream({ autoClose: false, highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>;
    }
  }

  /**
   * Deletes an upload. First renames its folder, so that the upload no longer exists even if a part cannot be deleted.
   * The next sweep then deletes the rest.
   */
  async remove(id: string): Promise<void> {
    const removed = join(this.folder, `${id}${REMOVED}`);
    await rename(join(this.folder, id), removed).catch(orNothing);
    await rm(removed, { recursive: true, force: true });
  }

  async list(): Promise<Upload[]> {
    return (await this.#names()).flatMap((id) => {
      const [, started, , bucket] = NAME.exec(id) ?? [];
      if (started === undefined || bucket === undefined) return [];
      return [{ id, bucket, expiresAt: uploadExpiry(instantOfSeconds(Number(started))) }];
    });
  }

  /** Deletes the parts that `remove` could not delete. */
  async sweepRemoved(): Promise<void> {
    for (const name of await this.#names())
      if (name.endsWith(REMOVED)) await rm(join(this.folder, name), { recursive: true, force: true });
  }

  async #names(): Promise<string[]> {
    return (await readdir(this.folder).catch(orNothing)) ?? [];
  }

  async #stat(id: string, name: string): Promise<StoredPart | undefined> {
    const stats = await lstat(join(this.folder, id, name), { bigint: true }).catch(orNothing);
    return stats && { number: Number(name), size: Number(stats.size), etag: etagOf(stats) };
  }

  /** Returns whether the id belongs to the object. */
  #isOf(bucket: string, path: ObjectPath, id: string): boolean {
    const [, , digest, volume] = NAME.exec(id) ?? [];
    return volume === bucket && digest === digestOf(bucket, path);
  }
}
