/** `VolumeStore` on S3: one bucket per volume. The account's document stores its state (`record.ts`). */
import { conflict, notFound, type Unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { StoredVolume, UploadsInParts, VolumeState, VolumeStore } from "../../../core/ports/volume-store.ts";
import { err, ok, type Result, ResultAsync } from "../../../core/result.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { type AwsRuntimeDeps, awsCalls } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { AwsConfig } from "../config.ts";
import { createVolume } from "./create-volume.ts";
import type { VolumeDeps } from "./deps.ts";
import type { MountSource } from "./files/access-point.ts";
import { FileSystems } from "./files/file-systems.ts";
import { grant } from "./grants.ts";
import { Marks } from "./marks.ts";
import { digestOfRecords, recordsPrefix } from "./names.ts";
import { listObjects, readObject, removeObject, statObject } from "./objects.ts";
import { isDue, resumeDueWork } from "./purge-volume.ts";
import { holderOf, isInTrash, type VolumeRecord, volumeOf } from "./record.ts";
import { Records } from "./records.ts";
import { restoreVolume } from "./restore-volume.ts";
import { decodedKey, S3Api, stateBucketMissing } from "./s3-calls.ts";
import { Signer } from "./signing.ts";
import { trashVolume } from "./trash-volume.ts";
import { grantParts, objectMax, putMax } from "./uploads.ts";

type Methods = Omit<VolumeStore, "uploadsInParts">;
type Args<M extends keyof Methods> = Parameters<Methods[M]>;
type Returns<M extends keyof Methods> = ReturnType<Methods[M]>;

const settled = <T, E>(work: Promise<Result<T, E>>): ResultAsync<T, E> => new ResultAsync(work);

export class AwsVolumes implements VolumeStore {
  readonly uploadsInParts: UploadsInParts;
  readonly #deps: VolumeDeps;
  readonly #signer: Signer;
  readonly #finishing = new Map<string, Promise<void>>();

  constructor(deps: VolumeDeps, signer: Signer) {
    this.#deps = deps;
    this.#signer = signer;
    this.uploadsInParts = {
      above: putMax,
      maxBytes: objectMax,
      grant: (volume, path, size, until, options = {}) =>
        settled(grantParts(deps.api, signer, volume, path, size, until, options)),
    };
  }

  /** Ok if S3 responds; makes one read-only call. */
  check(options: CallOptions = {}): ResultAsync<void, Unavailable> {
    const { api, config } = this.#deps;
    const { stateBucket } = config.shared;
    const look = async (): Promise<Result<void, Unavailable>> => {
      const seen = await api.headBucket(stateBucket, options);
      return seen.andThen((exists) => (exists ? ok(undefined) : err(stateBucketMissing(stateBucket))));
    };
    return settled(look());
  }

  /** Resumes interrupted operations and purges expired trash of every account. Runs at start. */
  sweep(options: CallOptions = {}): ResultAsync<void, Unavailable> {
    const { api, config } = this.#deps;
    const sweep = async (): Promise<Result<void, Unavailable>> => {
      for (let token: string | undefined; ; ) {
        const query = { Prefix: recordsPrefix, ...(token === undefined ? {} : { ContinuationToken: token }) };
        const page = await api.keys(config.shared.stateBucket, query, options);
        if (page.isErr()) return err(page.error);
        const accounts = (page.value.Contents ?? []).flatMap(({ Key = "" }) => digestOfRecords(decodedKey(Key)) ?? []);
        const swept = await this.#sweepAll(accounts, options);
        if (swept.isErr()) return err(swept.error);
        token = page.value.NextContinuationToken;
        if (token === undefined) return ok(undefined);
      }
    };
    return settled(sweep());
  }

  /** Resolves when no background work is left. */
  async idle(): Promise<void> {
    await Promise.all(this.#finishing.values());
  }

  /**
   * Returns the mount source of a volume's bucket; creates its file system if needed. With `subPath`, creates and
   * mounts that folder. Undefined if the bucket does not exist.
   */
  async mountable(
    bucket: string,
    { subPath, ...options }: CallOptions & { readonly subPath?: string } = {},
  ): Promise<Result<MountSource | undefined, Unavailable>> {
    const { api, files } = this.#deps;
    const seen = await api.headBucket(bucket, options);
    if (seen.isErr()) return err(seen.error);
    if (!seen.value) return ok(undefined);
    const found = await files.mountable(bucket, subPath, options);
    if (found.isErr() || subPath === undefined) return found;
    // "What appears as a directory is a common prefix":
    // https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-files-synchronization.html
    const made = await api.putText(bucket, `${subPath}/`, "", { IfNoneMatch: "*" }, options);
    return made.andThen(() => found);
  }

  find(...[owner, name, options = {}]: Args<"find">): Returns<"find"> {
    const look = async (): Promise<Result<VolumeState, Unavailable>> => {
      const all = await this.#deps.records.of(accountDigest(owner), options);
      if (all.isErr()) return err(all.error);
      const holder = holderOf(all.value, name);
      // Reopens the bucket of a restored volume if needed. Other cleanup waits for `list`.
      if (holder?.state === "live") this.#finish(accountDigest(owner), [holder]);
      const found = holder === undefined ? ok(undefined) : await this.#upToDate(owner, holder, options);
      if (found.isErr()) return err(found.error);
      if (found.value?.state === "live") return ok({ kind: "held", volume: volumeOf(found.value, owner) });
      if (found.value?.state === "hidden") return ok({ kind: "hidden" });
      const isHeldByOther = await this.#deps.marks.isHeldByOther(owner, name, options);
      return isHeldByOther.map((taken) => ({ kind: taken ? "elsewhere" : "free" }));
    };
    return settled(look());
  }

  list(...[owner, options = {}]: Args<"list">): Returns<"list"> {
    const list = async (): Promise<Result<readonly StoredVolume[], Unavailable>> => {
      const all = await this.#deps.records.of(accountDigest(owner), options);
      if (all.isErr()) return err(all.error);
      this.#finish(accountDigest(owner), all.value);
      const live: StoredVolume[] = [];
      for (const one of all.value) {
        const found = await this.#upToDate(owner, one, options);
        if (found.isErr()) return err(found.error);
        if (found.value?.state === "live") live.push(volumeOf(found.value, owner));
      }
      return ok(live.sort((a, b) => (a.name < b.name ? -1 : 1)));
    };
    return settled(list());
  }

  create(...[owner, name, options = {}]: Args<"create">): Returns<"create"> {
    return settled(createVolume(this.#deps, owner, name, options));
  }

  beginDelete(...[{ owner, id, name }, options = {}]: Args<"beginDelete">): Returns<"beginDelete"> {
    const { records } = this.#deps;
    const hidden = records.change(
      accountDigest(owner),
      (all) => {
        const found = all.find((one) => one.id === id);
        const canHide = found?.state === "live" || (found !== undefined && records.isForgotten(found));
        return canHide ? { put: { ...found, state: "hidden" } } : { stop: found?.state };
      },
      options,
    );
    return settled(hidden).andThen((end) => {
      if ("record" in end) return ok(undefined);
      return err(
        end.stop === "hidden"
          ? conflict(`'${name}' is being deleted.`)
          : notFound(`The volume '${name}' does not exist.`),
      );
    });
  }

  abortDelete(...[{ owner, id }, options = {}]: Args<"abortDelete">): Returns<"abortDelete"> {
    const show = async (): Promise<Result<void, Unavailable>> => {
      const shown = await this.#reveal(owner, id, () => true, options);
      if (shown.isErr()) return err(shown.error);
      // A move to the trash failed midway: restore the volume, unless another one has taken its name.
      if (shown.value === undefined || !isInTrash(shown.value)) return ok(undefined);
      const back = await restoreVolume(this.#deps, owner, id, options);
      return back.isErr() && back.error.kind === "unavailable" ? err(back.error) : ok(undefined);
    };
    return settled(show());
  }

  moveToTrash(...[volume, deletedAt, options = {}]: Args<"moveToTrash">): Returns<"moveToTrash"> {
    return settled(trashVolume(this.#deps, volume, deletedAt, options));
  }

  trash(...[owner, options = {}]: Args<"trash">): Returns<"trash"> {
    return settled(this.#deps.records.of(accountDigest(owner), options)).map((all) =>
      all.flatMap((one) =>
        isInTrash(one) && one.deletedAt !== undefined ? [{ id: one.id, name: one.name, deletedAt: one.deletedAt }] : [],
      ),
    );
  }

  restore(...[owner, id, options = {}]: Args<"restore">): Returns<"restore"> {
    return settled(restoreVolume(this.#deps, owner, id, options));
  }

  objects(...[volume, query, options = {}]: Args<"objects">): Returns<"objects"> {
    return settled(listObjects(this.#deps, volume, query, options));
  }

  stat(...[volume, path, options = {}]: Args<"stat">): Returns<"stat"> {
    return settled(statObject(this.#deps, volume, path, options));
  }

  read(...[volume, path, options = {}]: Args<"read">): Returns<"read"> {
    return settled(readObject(this.#deps, volume, path, options));
  }

  remove(...[volume, path, options = {}]: Args<"remove">): Returns<"remove"> {
    return settled(removeObject(this.#deps, volume, path, options));
  }

  grantUpload(...[volume, path, until]: Args<"grantUpload">): Returns<"grantUpload"> {
    return settled(grant(this.#signer, "write", volume, path, until));
  }

  grantDownload(...[volume, path, until]: Args<"grantDownload">): Returns<"grantDownload"> {
    return settled(grant(this.#signer, "read", volume, path, until));
  }

  /** Handles one account at a time, so that the start does not compete with requests. */
  async #sweepAll(accounts: readonly string[], options: CallOptions): Promise<Result<void, Unavailable>> {
    for (const account of accounts) {
      const all = await this.#deps.records.of(account, options);
      if (all.isErr()) return err(all.error);
      this.#finish(account, all.value);
      await this.idle();
    }
    return ok(undefined);
  }

  /** Makes a hidden volume live if `isOver` holds on a fresh read. Undefined if no volume has the id. */
  async #reveal(
    owner: StoredVolume["owner"],
    id: string,
    isOver: (record: VolumeRecord) => boolean,
    options: CallOptions,
  ): Promise<Result<VolumeRecord | undefined, Unavailable>> {
    const shown = await this.#deps.records.change(
      accountDigest(owner),
      (all) => {
        const found = all.find((one) => one.id === id);
        return found?.state === "hidden" && isOver(found) ? { put: { ...found, state: "live" } } : { stop: found };
      },
      options,
    );
    return shown.map((end) => ("record" in end ? end.record : end.stop));
  }

  /** Returns the volume. Reveals it first if it was hidden for too long. */
  #upToDate(owner: StoredVolume["owner"], record: VolumeRecord, options: CallOptions) {
    const isOver = (one: VolumeRecord): boolean => this.#deps.records.isForgotten(one);
    return isOver(record) ? this.#reveal(owner, record.id, isOver, options) : Promise.resolve(ok(record));
  }

  /** Resumes due work in the background, one volume at a time: interrupted operations and expired trash. */
  #finish(account: string, all: readonly VolumeRecord[]): void {
    const due = all.filter((one) => isDue(this.#deps, one));
    if (due.length === 0 || this.#finishing.has(account)) return;
    const { logger } = this.#deps;
    const finish = async (): Promise<void> => {
      try {
        for (const one of due) {
          const end = await resumeDueWork(this.#deps, account, one, {});
          if (end.isErr()) logger.warn("cleanup of a volume failed; the next listing retries it", { volume: one.id });
        }
      } catch (cause) {
        logger.error("bug while cleaning up volumes", { account, cause });
      } finally {
        this.#finishing.delete(account);
      }
    };
    this.#finishing.set(account, finish());
  }
}

export const createAwsVolumes = (config: AwsConfig, clients: ClientSource, runtime: AwsRuntimeDeps): AwsVolumes => {
  const call = awsCalls(runtime);
  const client = () => clients("s3");
  const api = new S3Api({ region: config.region, client, call });
  const { stateBucket: bucket } = config.shared;
  const records = new Records({ ...runtime, api, bucket });
  const files = new FileSystems({ config, clients, runtime });
  const deps: VolumeDeps = { ...runtime, api, records, marks: new Marks(api, bucket), files, config };
  return new AwsVolumes(deps, new Signer({ client, call, clock: runtime.clock }));
};
