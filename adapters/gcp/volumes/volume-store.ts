/**
 * `VolumeStore` on Cloud Storage: each volume has its own bucket, and the bucket's labels store owner and state
 * (`bucket.ts`).
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { StoredVolume, VolumeStore } from "../../../core/ports/volume-store.ts";
import { ok, okAsync, ResultAsync, safeTry } from "../../../core/result.ts";
import { type BackgroundWork, createBackgroundWork } from "../../cloud/volumes/background-work.ts";
import type { VolumeDriver } from "../../cloud/volumes/driver.ts";
import { createCloudVolumes } from "../../cloud/volumes/volume-store.ts";
import type { Identities } from "../accounts/identities.ts";
import { type GcpRuntimeDeps, googleCalls } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { GcpConfig } from "../config.ts";
import { readBucket, type VolumeBucket } from "./bucket.ts";
import { setCors, softDeleteProblem } from "./bucket-settings.ts";
import { closeBucket } from "./close-bucket.ts";
import { createVolume, dropAbandoned } from "./create-volume.ts";
import { grantOrigins, signUrl } from "./grants.ts";
import { BUCKET_PREFIX, claimsBucket } from "./names.ts";
import { bucketObjects } from "./objects.ts";
import { claimTrashed, openBucket } from "./restore-volume.ts";
import { StorageApi } from "./storage-calls.ts";
import { createUploads } from "./uploads.ts";
import { type VolumeStoreDeps, volumeCall } from "./volume-call.ts";

/**
 * Milliseconds after which background work completes an unfinished deletion or removes an unfinished creation. By then,
 * the call has failed.
 */
const ABANDONED_MS = { deleting: 60_000, making: 600_000 };

export interface GcpVolumes extends VolumeStore {
  /**
   * Returns a message for the operator if the claims bucket does not permit the platform to start; otherwise undefined.
   */
  softDeleteProblem(): ResultAsync<string | undefined, Unavailable>;
  /** Sets the CORS rules of every account's buckets that lack them. Runs at start. */
  sweep(options?: CallOptions): ResultAsync<void, Unavailable>;
  /** Succeeds if Cloud Storage responds. Makes one read-only call. */
  check(options?: CallOptions): ResultAsync<void, Unavailable>;
  /** Resolves when no background work is left. */
  idle(): Promise<void>;
}

const driverOf =
  (deps: VolumeStoreDeps) =>
  (owner: AccountId, options?: CallOptions): VolumeDriver<VolumeBucket> => {
    const call = volumeCall(deps, owner, options);
    const { api, buckets, claims } = call;
    return {
      records: buckets,
      trash: () => ResultAsync.combine([buckets.all(), buckets.deleted()]).map((all) => all.flat()),
      isHeldByOther: (name) => claims.isHeldByOther(name),
      create: (name) => createVolume(call, name),
      close: (bucket) => closeBucket(call, bucket),
      claimTrashed: (id) => claimTrashed(call, id),
      open: (bucket) => openBucket(call, bucket),
      dueWork: (bucket) => {
        const { state, at } = bucket;
        if (state === "live" && !bucket.hasCors) return () => setCors(api, bucket);
        if ((state !== "deleting" && state !== "making") || buckets.ageOf(at) < ABANDONED_MS[state]) return undefined;
        return () => (state === "deleting" ? closeBucket(call, bucket) : dropAbandoned(call, bucket));
      },
      ...bucketObjects(api),
    };
  };

/**
 * Grants the account's services access to a new volume in the background, because a grant takes minutes to become
 * effective.
 */
const startGrant = (identities: Identities, background: BackgroundWork, { id, owner }: StoredVolume): void => {
  const grant = () => identities.ensure(owner).andThen((email) => identities.allow(id, email));
  background.start(id, [{ volume: id, run: () => grant().orElse(() => okAsync(undefined)) }]);
};

/** @param identities lets services use a new volume before the first deploy that mounts it */
export const createGcpVolumes = (
  config: GcpConfig,
  clients: ClientSource,
  runtime: GcpRuntimeDeps,
  identities?: Identities,
): GcpVolumes => {
  const [call, storage] = [googleCalls(runtime), () => clients("storage")];
  const deps: VolumeStoreDeps = { ...runtime, config, project: config.project, storage, call };
  const background = createBackgroundWork(runtime.logger);
  const volumes = createCloudVolumes({ driverOf: driverOf(deps), sign: signUrl(deps), background });
  return {
    ...volumes,
    grantOrigins: grantOrigins(deps),
    uploadsInParts: createUploads(deps),
    create: (owner, name, options) =>
      volumes.create(owner, name, options).andTee(({ volume, created }) => {
        if (created && identities !== undefined) startGrant(identities, background, volume);
      }),
    softDeleteProblem: () => softDeleteProblem(new StorageApi(deps), config),
    sweep: (options) =>
      safeTry(async function* () {
        const api = new StorageApi(deps, options?.signal);
        const all = (yield* api.buckets(BUCKET_PREFIX, false)).flatMap((metadata) => readBucket(metadata) ?? []);
        for (const bucket of all) if (bucket.state === "live" && !bucket.hasCors) yield* setCors(api, bucket);
        return ok(undefined);
      }),
    check: (options) => new StorageApi(deps, options?.signal).bucket(claimsBucket(config.project)).map(() => undefined),
    idle: background.idle,
  };
};
