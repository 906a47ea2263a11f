/** `VolumeStore` on S3: one bucket per volume. A document per account stores the state of its volumes (`record.ts`). */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { UploadsInParts, VolumeStore } from "../../../core/ports/volume-store.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import { createBackgroundWork, dueTasks } from "../../cloud/volumes/background-work.ts";
import type { VolumeDriver } from "../../cloud/volumes/driver.ts";
import { createCloudVolumes } from "../../cloud/volumes/volume-store.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { type AwsRuntimeDeps, awsCalls } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { AwsConfig } from "../config.ts";
import { closeBucket } from "./close-bucket.ts";
import { createVolume } from "./create-volume.ts";
import type { MountSource } from "./files/access-point.ts";
import { createFileSystems } from "./files/file-systems.ts";
import { grantOrigins, signUrl } from "./grants.ts";
import { digestOfRecords, recordsPrefix } from "./names.ts";
import { bucketObjects } from "./objects.ts";
import { isDue, resumeDueWork } from "./purge-volume.ts";
import type { AwsVolume } from "./record.ts";
import { claimTrashed, openBucket } from "./restore-volume.ts";
import { decodedKey, S3Api, stateBucketMissing } from "./s3-calls.ts";
import { Signer } from "./signing.ts";
import { s3Uploads } from "./uploads.ts";
import { type VolumeCall, type VolumeStoreDeps, volumeCall } from "./volume-call.ts";

export interface AwsVolumes extends VolumeStore {
  readonly uploadsInParts: UploadsInParts;
  grantOrigins(options?: CallOptions): ResultAsync<readonly string[], Unavailable>;
  /** Succeeds if the state bucket exists. Makes one read-only call. */
  check(options?: CallOptions): ResultAsync<void, Unavailable>;
  /**
   * For every account: resumes interrupted operations, purges expired trash, and updates the CORS rules of buckets.
   * Runs at start.
   */
  sweep(options?: CallOptions): ResultAsync<void, Unavailable>;
  /** Resolves when all background work has ended. */
  idle(): Promise<void>;
  /**
   * Returns the mount source of a volume's bucket, or of its folder `subPath`. Creates the file system and the folder
   * if they do not exist. Returns undefined if the bucket does not exist.
   */
  mountable(
    bucket: string,
    options?: CallOptions & { readonly subPath?: string },
  ): ResultAsync<MountSource | undefined, Unavailable>;
}

const dueWork = (call: VolumeCall) => (record: AwsVolume) =>
  isDue(call, record) ? () => resumeDueWork(call, record) : undefined;

const driverOf =
  (deps: VolumeStoreDeps) =>
  (owner: AccountId, options?: CallOptions): VolumeDriver<AwsVolume> => {
    const call = volumeCall(deps, accountDigest(owner), options);
    return {
      records: call.records,
      trash: () => call.records.all(),
      isHeldByOther: (name) => call.marks.isHeldByOther(name),
      create: (name) => createVolume(call, owner, name),
      close: (record) => closeBucket(call, record),
      claimTrashed: (id) => claimTrashed(call, id),
      open: (record) => openBucket(call, record),
      dueWork: dueWork(call),
      ...bucketObjects(call),
    };
  };

export const createAwsVolumes = (config: AwsConfig, clients: ClientSource, runtime: AwsRuntimeDeps): AwsVolumes => {
  const call = awsCalls(runtime);
  const s3 = { region: config.region, clients, call };
  const { stateBucket } = config.shared;
  const files = createFileSystems({ config, clients, runtime });
  const deps: VolumeStoreDeps = { ...runtime, s3, files, config };
  const signer = new Signer({ client: () => clients("s3"), call, clock: runtime.clock });
  const background = createBackgroundWork(runtime.logger);

  return {
    ...createCloudVolumes({ driverOf: driverOf(deps), sign: signUrl(signer), background }),

    grantOrigins: grantOrigins(signer, runtime.clock),

    uploadsInParts: s3Uploads(({ owner }, options) => volumeCall(deps, accountDigest(owner), options), signer),

    check: (options) =>
      new S3Api(s3, options)
        .headBucket(stateBucket)
        .andThen((exists) => (exists ? ok(undefined) : err(stateBucketMissing(stateBucket)))),

    sweep: (options) =>
      safeTry(async function* () {
        const api = new S3Api(s3, options);
        let ContinuationToken: string | undefined;
        do {
          const page = yield* await api.keys(stateBucket, { Prefix: recordsPrefix, ContinuationToken });
          // One account at a time, so that the sweep leaves capacity for requests.
          for (const account of (page.Contents ?? []).flatMap(
            ({ Key = "" }) => digestOfRecords(decodedKey(Key)) ?? [],
          )) {
            const all = yield* await volumeCall(deps, account, options).records.all();
            background.start(account, dueTasks(all, dueWork(volumeCall(deps, account))));
            await background.idle();
          }
          ContinuationToken = page.NextContinuationToken;
        } while (ContinuationToken !== undefined);
        return ok(undefined);
      }),

    idle: background.idle,

    mountable: (bucket, { subPath, ...options } = {}) =>
      safeTry(async function* () {
        const api = new S3Api(s3, options);
        if (!(yield* await api.headBucket(bucket))) return ok(undefined);
        const source = yield* await files.mountable(bucket, subPath, options);
        // The empty object makes the folder exist. "What appears as a directory is a common prefix":
        // https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-files-synchronization.html
        if (subPath !== undefined) yield* await api.putText(bucket, `${subPath}/`, "", { IfNoneMatch: "*" });
        return ok(source);
      }),
  };
};
