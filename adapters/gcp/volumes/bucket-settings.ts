/** Settings of the platform's buckets: no public access, uniform bucket-level access, seven days of soft delete. */
import type { BucketMetadata } from "@google-cloud/storage";
import { trashDays } from "../../../core/domain/accounts/limits.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, errAsync, ok, okAsync, ResultAsync } from "../../../core/result.ts";
import type { GcpConfig } from "../config.ts";
import { claimsBucket } from "./names.ts";
import type { ApiResult, StorageApi } from "./storage-calls.ts";

export const trashSeconds = trashDays * 86_400;

/**
 * https://cloud.google.com/storage/docs/uniform-bucket-level-access, .../public-access-prevention, .../soft-delete
 */
export const bucketSettings = ({ region, softDelete }: GcpConfig): BucketMetadata => ({
  location: region,
  iamConfiguration: { uniformBucketLevelAccess: { enabled: true }, publicAccessPrevention: "enforced" },
  // With "any", the platform keeps the soft-delete default of the project or its organisation.
  ...(softDelete === "any" ? {} : { softDeletePolicy: { retentionDurationSeconds: trashSeconds } }),
});

export const forbidden = (): Unavailable =>
  unavailable(
    "Cloud Storage rejected the bucket's settings. Check the organization's policies on locations and soft delete.",
    60,
  );

/** Creates the claims bucket; leaves an existing one unchanged. */
export const createClaimsBucket = async (api: StorageApi, config: GcpConfig, options: CallOptions): ApiResult<void> => {
  const made = await api.insertBucket({ name: claimsBucket(config.project), ...bucketSettings(config) }, options);
  if (made.isErr()) return err(made.error);
  return made.value === "changed" || made.value === "invalid" ? err(forbidden()) : ok(undefined);
};

const formatShortRetention = (bucket: string, seconds: number): string =>
  `The bucket '${bucket}' retains deleted objects for ${seconds / 86_400} days instead of ${trashDays}, so the platform ` +
  `cannot restore deleted volumes for as long as it promises. Run 'gcloud storage buckets update gs://${bucket} ` +
  `--soft-delete-duration=${trashDays}d', check the organization policy storage.softDeletePolicySeconds, ` +
  `or start with --gcp-soft-delete any.`;

const formatForeignBucket = (bucket: string): string =>
  `The bucket '${bucket}' belongs to another project, whose owner would control which bucket each volume's name ` +
  "refers to. Use another project, or have the bucket's name released.";

/** Bucket names are global; only a listing shows whether a bucket belongs to the project. */
const ownBucket = async (api: StorageApi, name: string, options: CallOptions): ApiResult<BucketMetadata | undefined> =>
  (await api.buckets(name, false, options)).map((all) => all.find((one) => one.name === name));

/**
 * Creates the claims bucket if it does not exist, and checks it. Returns a message for the operator if the platform
 * must not start: the bucket belongs to another project, or the project retains deleted objects for less time than the
 * contract promises. Undefined if the bucket is fine, or the operator accepted the shorter retention.
 */
export const softDeleteProblem = (
  api: StorageApi,
  config: GcpConfig,
  options: CallOptions = {},
): ResultAsync<string | undefined, Unavailable> => {
  const bucket = claimsBucket(config.project);
  const look = async (): ApiResult<string | undefined> => {
    const settings = { name: bucket, ...bucketSettings(config) };
    const made = await api.insertBucket(settings, options);
    if (made.isErr()) return err(made.error);
    if (made.value === "changed" || made.value === "invalid") return ok(forbidden().message);
    const found = made.value === "exists" ? await ownBucket(api, bucket, options) : ok(made.value);
    if (found.isErr()) return err(found.error);
    if (found.value === undefined) return ok(formatForeignBucket(bucket));
    const seconds = Number(found.value.softDeletePolicy?.retentionDurationSeconds ?? 0);
    return ok(
      config.softDelete === "required" && seconds < trashSeconds ? formatShortRetention(bucket, seconds) : undefined,
    );
  };
  return ResultAsync.fromSafePromise(look()).andThen((result) =>
    result.isOk() ? okAsync(result.value) : errAsync(result.error),
  );
};
