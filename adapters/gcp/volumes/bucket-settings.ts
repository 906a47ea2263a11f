/**
 * Settings of the platform's buckets: no public access, uniform bucket-level access and, unless the setting
 * `softDelete` is `any`, seven days of soft delete.
 */
import type { BucketMetadata, LifecycleRule } from "@google-cloud/storage";
import { trashDays, uploadHours } from "../../../core/domain/accounts/limits.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import { err, ok, okAsync, safeTry } from "../../../core/result.ts";
import type { ApiResult } from "../../cloud/calls/expect-states.ts";
import { covers, storageCors } from "../../shared/volumes/cors.ts";
import type { GcpConfig } from "../config.ts";
import { claimsBucket } from "./names.ts";
import type { StorageApi } from "./storage-calls.ts";

const trashSeconds = trashDays * 86_400;

/**
 * https://cloud.google.com/storage/docs/uniform-bucket-level-access, .../public-access-prevention, .../soft-delete
 */
const bucketSettings = ({ region, softDelete }: GcpConfig): BucketMetadata => ({
  location: region,
  iamConfiguration: { uniformBucketLevelAccess: { enabled: true }, publicAccessPrevention: "enforced" },
  // With "any", the platform keeps the soft-delete default of the project or its organization.
  ...(softDelete === "any" ? {} : { softDeletePolicy: { retentionDurationSeconds: trashSeconds } }),
});

const UPLOAD_DAYS = uploadHours / 24;

/**
 * Deletes uploads in parts that were not completed:
 * https://cloud.google.com/storage/docs/lifecycle#abort-mpu
 */
const abortUploads: LifecycleRule = {
  action: { type: "AbortIncompleteMultipartUpload" },
  condition: { age: UPLOAD_DAYS },
};

/** Returns whether the rule deletes every incomplete upload in time. Any other condition excludes some uploads. */
const expiresUploads = ({ action, condition: { age, ...others } }: LifecycleRule): boolean =>
  action.type === abortUploads.action.type &&
  age !== undefined &&
  age <= UPLOAD_DAYS &&
  Object.values(others).every((one) => Array.isArray(one) && one.length === 0);

/**
 * Makes Cloud Storage delete incomplete uploads of the bucket. Keeps its other lifecycle rules. If the bucket changes
 * concurrently, the next upload sets the rule.
 */
export const ensureUploadsExpire = (api: StorageApi, bucket: string): ApiResult<unknown> =>
  api.bucket(bucket).andThen((found): ApiResult<unknown> => {
    if (found === "not_found") return okAsync(undefined);
    const rules = found.lifecycle?.rule ?? [];
    if (rules.some(expiresUploads)) return okAsync(undefined);
    return api.patchBucket(bucket, String(found.metageneration), { lifecycle: { rule: [...rules, abortUploads] } });
  });

const forbidden = (): Unavailable =>
  unavailable(
    "Cloud Storage rejected the bucket's settings. Check the organization's policies on locations and soft delete.",
    60,
  );

/**
 * Lets web pages use signed URLs. `responseHeader` lists the headers that a page may send, and those that it may read.
 * https://cloud.google.com/storage/docs/cross-origin, .../docs/json_api/v1/buckets#resource
 */
const { origin, methods, requestHeaders, exposedHeaders, maxAgeSeconds } = storageCors;
const cors = [
  {
    origin: [origin],
    method: [...methods],
    responseHeader: [...requestHeaders, ...exposedHeaders],
    maxAgeSeconds,
  },
];

type CorsOf = Pick<BucketMetadata, "cors">;

/** Returns whether pages can use the bucket's signed URLs. Cloud Storage documents no patterns of header names. */
export const hasCors = ({ cors: found = [] }: CorsOf): boolean =>
  covers(
    found.map(({ origin: origins = [], method = [], responseHeader = [] }) => {
      const headers = responseHeader.filter((one) => !one.includes("*"));
      return { origins, methods: method, requestHeaders: headers, exposedHeaders: headers };
    }),
  );

/**
 * Adds the CORS rule to an existing bucket, after the rules that an operator has set. Does nothing if the bucket has
 * changed; the next listing retries.
 */
export const addCors = (
  api: StorageApi,
  { id, metageneration, cors: found = [] }: { readonly id: string; readonly metageneration: string } & CorsOf,
): ApiResult<unknown> => api.patchBucket(id, metageneration, { cors: [...found, ...cors] });

/** Creates the bucket of a volume; leaves an existing one unchanged. */
export const createVolumeBucket = (
  api: StorageApi,
  config: GcpConfig,
  bucket: Pick<BucketMetadata, "name" | "labels">,
): ApiResult<BucketMetadata | "exists"> => createBucket(api, config, { ...bucket, cors });

/** Creates a bucket; leaves an existing one unchanged. */
export const createBucket = (
  api: StorageApi,
  config: GcpConfig,
  bucket: Pick<BucketMetadata, "name" | "labels" | "cors">,
): ApiResult<BucketMetadata | "exists"> =>
  api
    .insertBucket({ ...bucket, ...bucketSettings(config) })
    .andThen((made) => (made === "changed" || made === "invalid" ? err(forbidden()) : ok(made)));

const formatShortRetention = (bucket: string, seconds: number): string =>
  `The soft-delete period of the bucket '${bucket}' is ${seconds / 86_400} d instead of ${trashDays} d, so the platform ` +
  `cannot restore deleted volumes for the promised time. Run 'gcloud storage buckets update gs://${bucket} ` +
  `--soft-delete-duration=${trashDays}d', check the organization policy storage.softDeletePolicySeconds, ` +
  `or start with --gcp-soft-delete any.`;

const formatForeignBucket = (bucket: string): string =>
  `The bucket '${bucket}' belongs to another project, so the owner of that project could redirect volumes to other ` +
  "buckets. Use another project, or ask the owner to delete the bucket.";

/**
 * Creates the claims bucket if it does not exist, and checks it. Returns a message for the operator if the platform
 * must not start: the bucket belongs to another project, a policy forbids the settings, or deleted objects are retained
 * for less time than the contract promises. Returns undefined if the bucket meets the requirements, or if the operator
 * has accepted the shorter retention.
 */
export const softDeleteProblem = (api: StorageApi, config: GcpConfig): ApiResult<string | undefined> =>
  safeTry(async function* () {
    const bucket = claimsBucket(config.project);
    const made = yield* api.insertBucket({ name: bucket, ...bucketSettings(config) });
    if (made === "changed" || made === "invalid") return ok(forbidden().message);
    // Bucket names are global; only a listing shows whether a bucket belongs to the project.
    const own = made === "exists" ? (yield* api.buckets(bucket, false)).find(({ name }) => name === bucket) : made;
    if (own === undefined) return ok(formatForeignBucket(bucket));
    const seconds = Number(own.softDeletePolicy?.retentionDurationSeconds ?? 0);
    const isTooShort = config.softDelete === "required" && seconds < trashSeconds;
    return ok(isTooShort ? formatShortRetention(bucket, seconds) : undefined);
  });
