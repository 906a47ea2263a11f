/** `VolumeStore` on S3: one bucket per volume. The account's document stores its state (`record.ts`). */
import { conflict, notFound, type Unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { StoredVolume, UploadsInParts, VolumeState, VolumeStore } from "../../../core/ports/volume-store.ts";
import { err, ok, okAsync, type ResultAsync, safeTry } from "../../../core/result.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { type AwsRuntimeDeps, awsCalls } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { AwsConfig } from "../config.ts";
import { createVolume } from "./create-volume.ts";
import type { VolumeDeps } from "./deps.ts";
import type { MountSource } from "./files/access-point.ts";
import { createFileSystems } from "./files/file-systems.ts";
import { grant } from "./grants.ts";
import { Marks } from "./marks.ts";
import { digestOfRecords, recordsPrefix } from "./names.ts";
import { listObjects, readObject, removeObject, statObject } from "./objects.ts";
import { isDue, resumeDueWork } from "./purge-volume.ts";
import { holderOf, isInTrash, type VolumeRecord, volumeOf } from "./record.ts";
import { createRecords, outcomeOf } from "./records.ts";
import { restoreVolume } from "./restore-volume.ts";
import { type ApiResult, decodedKey, S3Api, stateBucketMissing } from "./s3-calls.ts";
import { Signer } from "./signing.ts";
import { trashVolume } from "./trash-volume.ts";
import { grantParts, objectMax, putMax } from "./uploads.ts";

export interface AwsVolumes extends VolumeStore {
  readonly uploadsInParts: UploadsInParts;
  /** Ok if S3 responds; makes one read-only call. */
  check(options?: CallOptions): ResultAsync<void, Unavailable>;
  /** Resumes interrupted operations and purges expired trash of every account. Runs at start. */
  sweep(options?: CallOptions): ResultAsync<void, Unavailable>;
  /** Resolves when no background work is left. */
  idle(): Promise<void>;
  /**
   * Returns the mount source of a volume's bucket; creates its file system if needed. With `subPath`, creates and
   * mounts that folder. Undefined if the bucket does not exist.
   */
  mountable(
    bucket: string,
    options?: CallOptions & { readonly subPath?: string },
  ): ResultAsync<MountSource | undefined, Unavailable>;
}

const volumesOver = (deps: VolumeDeps, signer: Signer): AwsVolumes => {
  const { api, config, files, logger, marks, records } = deps;
  const { stateBucket } = config.shared;
  const finishing = new Map<string, Promise<void>>();

  const idle = async (): Promise<void> => {
    await Promise.all(finishing.values());
  };

  /** Resumes due work in the background, one volume at a time: interrupted operations and expired trash. */
  const finish = (account: string, all: readonly VolumeRecord[]): void => {
    const due = all.filter((one) => isDue(deps, one));
    if (due.length === 0 || finishing.has(account)) return;
    const work = async (): Promise<void> => {
      try {
        for (const one of due) {
          const end = await resumeDueWork(deps, account, one, {});
          if (end.isErr()) logger.warn("cleanup of a volume failed; the next listing retries it", { volume: one.id });
        }
      } catch (cause) {
        logger.error("bug while cleaning up volumes", { account, cause });
      } finally {
        finishing.delete(account);
      }
    };
    finishing.set(account, work());
  };

  /** Makes a hidden volume live if `isOver` holds on a fresh read. Undefined if no volume has the id. */
  const reveal = (
    owner: StoredVolume["owner"],
    id: string,
    isOver: (record: VolumeRecord) => boolean,
    options: CallOptions,
  ): ApiResult<VolumeRecord | undefined> =>
    records
      .changeVolume(
        accountDigest(owner),
        id,
        (found) =>
          found?.state === "hidden" && isOver(found) ? { put: { ...found, state: "live" } } : { stop: found },
        options,
      )
      .map(outcomeOf);

  /** Returns the volume. Reveals it first if it was hidden for too long. */
  const upToDate = (owner: StoredVolume["owner"], record: VolumeRecord, options: CallOptions) =>
    records.isForgotten(record) ? reveal(owner, record.id, records.isForgotten, options) : okAsync(record);

  return {
    check: (options = {}) =>
      api
        .headBucket(stateBucket, options)
        .andThen((exists) => (exists ? ok(undefined) : err(stateBucketMissing(stateBucket)))),

    sweep: (options = {}) =>
      safeTry(async function* () {
        let ContinuationToken: string | undefined;
        do {
          const page = yield* await api.keys(stateBucket, { Prefix: recordsPrefix, ContinuationToken }, options);
          // One account at a time, so that the start does not compete with requests.
          for (const account of (page.Contents ?? []).flatMap(
            ({ Key = "" }) => digestOfRecords(decodedKey(Key)) ?? [],
          )) {
            finish(account, yield* await records.of(account, options));
            await idle();
          }
          ContinuationToken = page.NextContinuationToken;
        } while (ContinuationToken !== undefined);
        return ok(undefined);
      }),

    idle,

    mountable: (bucket, { subPath, ...options } = {}) =>
      safeTry(async function* () {
        if (!(yield* await api.headBucket(bucket, options))) return ok(undefined);
        const source = yield* await files.mountable(bucket, subPath, options);
        // "What appears as a directory is a common prefix":
        // https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-files-synchronization.html
        if (subPath !== undefined) yield* await api.putText(bucket, `${subPath}/`, "", { IfNoneMatch: "*" }, options);
        return ok(source);
      }),

    find: (owner, name, options = {}) =>
      safeTry(async function* () {
        const holder = holderOf(yield* await records.of(accountDigest(owner), options), name);
        // Reopens the bucket of a restored volume if needed. Other cleanup waits for `list`.
        if (holder?.state === "live") finish(accountDigest(owner), [holder]);
        const found = holder && (yield* await upToDate(owner, holder, options));
        if (found?.state === "live") return ok<VolumeState>({ kind: "held", volume: volumeOf(found, owner) });
        if (found?.state === "hidden") return ok<VolumeState>({ kind: "hidden" });
        const isHeldByOther = yield* await marks.isHeldByOther(owner, name, options);
        return ok<VolumeState>({ kind: isHeldByOther ? "other_account" : "free" });
      }),

    list: (owner, options = {}) =>
      safeTry(async function* () {
        const all = yield* await records.of(accountDigest(owner), options);
        finish(accountDigest(owner), all);
        const live: StoredVolume[] = [];
        for (const one of all) {
          const found = yield* await upToDate(owner, one, options);
          if (found?.state === "live") live.push(volumeOf(found, owner));
        }
        return ok(live.sort((a, b) => (a.name < b.name ? -1 : 1)));
      }),

    create: (owner, name, options = {}) => createVolume(deps, owner, name, options),

    beginDelete: ({ owner, id, name }, options = {}) =>
      records
        .changeVolume(
          accountDigest(owner),
          id,
          (found) => {
            const canHide = found?.state === "live" || (found !== undefined && records.isForgotten(found));
            return canHide ? { put: { ...found, state: "hidden" } } : { stop: found?.state };
          },
          options,
        )
        .andThen((end) => {
          if ("record" in end) return ok(undefined);
          return err(
            end.stop === "hidden"
              ? conflict(`'${name}' is being deleted.`)
              : notFound(`The volume '${name}' does not exist.`),
          );
        }),

    abortDelete: ({ owner, id }, options = {}) =>
      safeTry(async function* () {
        const shown = yield* await reveal(owner, id, () => true, options);
        // A move to the trash failed midway: restore the volume, unless another one has taken its name.
        if (shown === undefined || !isInTrash(shown)) return ok(undefined);
        const back = await restoreVolume(deps, owner, id, options);
        return back.isErr() && back.error.kind === "unavailable" ? err(back.error) : ok(undefined);
      }),

    moveToTrash: (volume, deletedAt, options = {}) => trashVolume(deps, volume, deletedAt, options),

    trash: (owner, options = {}) =>
      records
        .of(accountDigest(owner), options)
        .map((all) =>
          all.flatMap((one) =>
            isInTrash(one) && one.deletedAt !== undefined
              ? [{ id: one.id, name: one.name, deletedAt: one.deletedAt }]
              : [],
          ),
        ),

    restore: (owner, id, options = {}) => restoreVolume(deps, owner, id, options),
    objects: (volume, query, options = {}) => listObjects(deps, volume, query, options),
    stat: (volume, path, options = {}) => statObject(deps, volume, path, options),
    read: (volume, path, options = {}) => readObject(deps, volume, path, options),
    remove: (volume, path, options = {}) => removeObject(deps, volume, path, options),
    grantUpload: (volume, path, until) => grant(signer, "write", volume, path, until),
    grantDownload: (volume, path, until) => grant(signer, "read", volume, path, until),

    uploadsInParts: {
      above: putMax,
      maxBytes: objectMax,
      grant: (volume, path, size, until, options = {}) => grantParts(api, signer, volume, path, size, until, options),
    },
  };
};

export const createAwsVolumes = (config: AwsConfig, clients: ClientSource, runtime: AwsRuntimeDeps): AwsVolumes => {
  const call = awsCalls(runtime);
  const api = new S3Api({ region: config.region, clients, call });
  const { stateBucket: bucket } = config.shared;
  const records = createRecords({ ...runtime, api, bucket });
  const files = createFileSystems({ config, clients, runtime });
  const deps: VolumeDeps = { ...runtime, api, records, marks: new Marks(api, bucket), files, config };
  return volumesOver(deps, new Signer({ client: () => clients("s3"), call, clock: runtime.clock }));
};
