/** Settings of volume buckets when they are created, moved to the trash and restored. Pure. */
import type { CORSRule, LifecycleRule } from "@aws-sdk/client-s3";
import { trashDays, uploadHours } from "../../../core/domain/accounts/limits.ts";
import { restorableUntil } from "../../../core/domain/volumes/volume.ts";
import { type Instant, millisOf } from "../../../core/domain/wire/instant.ts";
import { covers, storageCors } from "../../shared/volumes/cors.ts";
import { arnParts, bucketArn } from "../arns.ts";
import type { AwsConfig } from "../config.ts";
import type { AwsVolume } from "./record.ts";

/** The tag of volume buckets and their file systems that identifies the owner. */
export const OWNER_TAG = "portside-owner";

/** Returns tags for operators and cost reports. The platform does not read them. */
export const bucketTags = (account: string, { name }: Pick<AwsVolume, "name">): Record<string, string> => ({
  [OWNER_TAG]: account,
  "portside-volume": name,
});

const DAY_MS = 86_400_000;

/**
 * Days after which S3 aborts an incomplete upload. S3 rounds the time up to the next midnight UTC, so the parts remain
 * for at most two days:
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpu-abort-incomplete-mpu-lifecycle-config.html
 */
const UPLOAD_DAYS = uploadHours / 24;

const everything = { Filter: { Prefix: "" }, Status: "Enabled" } as const;

/** The id prefix of Portside's lifecycle rules. */
const LIFECYCLE_PREFIX = "portside-";

/** The ids of Portside's lifecycle rules in earlier versions. */
const FORMER_IDS = new Set(["replaced-versions", "uploads-that-never-ended", "trash", "trash-versions"]);

const isOwnRule = ({ ID = "" }: LifecycleRule): boolean => ID.startsWith(LIFECYCLE_PREFIX) || FORMER_IDS.has(ID);

/**
 * Returns a rule with a filter instead of the deprecated `Prefix`. S3 rejects a lifecycle that contains both forms:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_LifecycleRule.html
 */
const withFilter = ({ Prefix, ...rule }: LifecycleRule): LifecycleRule => ({
  ...rule,
  Filter: rule.Filter ?? { Prefix: Prefix ?? "" },
});

/** Returns the operators' lifecycle rules, followed by `own`, which replace Portside's earlier rules. */
export const withLifecycle = (rules: readonly LifecycleRule[], own: readonly LifecycleRule[]): LifecycleRule[] => [
  ...rules.filter((rule) => !isOwnRule(rule)).map(withFilter),
  ...own,
];

const uploads: LifecycleRule = {
  ID: `${LIFECYCLE_PREFIX}uploads`,
  ...everything,
  AbortIncompleteMultipartUpload: { DaysAfterInitiation: UPLOAD_DAYS },
};

const CORS_ID = "web-pages";

/** The version of the CORS rules. The sweep and the listing of volumes update buckets with a different version. */
export const CORS_VERSION = 1;

/**
 * Lets web pages use signed URLs. S3 accepts a preflight if every requested header matches an allowed header
 * (https://docs.aws.amazon.com/AmazonS3/latest/userguide/ManageCorsUsing.html).
 */
export const corsRules = (): CORSRule[] => [
  {
    ID: CORS_ID,
    AllowedOrigins: [storageCors.origin],
    AllowedMethods: [...storageCors.methods],
    AllowedHeaders: [...storageCors.requestHeaders],
    ExposeHeaders: [...storageCors.exposedHeaders],
    MaxAgeSeconds: storageCors.maxAgeSeconds,
  },
];

/** Returns whether pages can use the bucket's signed URLs. S3 does not accept wildcards in `ExposeHeaders`. */
export const hasCors = (rules: readonly CORSRule[]): boolean =>
  covers(
    rules.map(({ AllowedOrigins = [], AllowedMethods = [], AllowedHeaders = [], ExposeHeaders = [] }) => ({
      origins: AllowedOrigins,
      methods: AllowedMethods,
      requestHeaders: AllowedHeaders,
      exposedHeaders: ExposeHeaders,
    })),
  );

/** Returns the operators' rules, and Portside's rule after them. Replaces an earlier version of Portside's rule. */
export const withCors = (rules: readonly CORSRule[]): CORSRule[] => [
  ...rules.filter(({ ID }) => ID !== CORS_ID),
  ...corsRules(),
];

/**
 * The lifecycle of a live volume. Deletes replaced versions, which cost as much as current ones. S3 Files requires
 * versioning (https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-files-prereq-policies.html).
 */
export const liveLifecycle = (): LifecycleRule[] => [
  {
    ID: `${LIFECYCLE_PREFIX}versions`,
    ...everything,
    NoncurrentVersionExpiration: { NoncurrentDays: trashDays },
    Expiration: { ExpiredObjectDeleteMarker: true },
  },
  uploads,
];

/**
 * The lifecycle of a volume in the trash. Deletes its objects even if no server runs. S3 requires a date at midnight.
 * A rule that expires delete markers must not have a date
 * (https://docs.aws.amazon.com/AmazonS3/latest/API/API_LifecycleExpiration.html).
 */
export const trashLifecycle = ({ deletedAt }: Pick<AwsVolume, "deletedAt">, now: Instant): LifecycleRule[] => {
  const end = deletedAt === undefined ? millisOf(now) + trashDays * DAY_MS : millisOf(restorableUntil(deletedAt));
  // The date is at least a day later, so that the platform's purge, which also deletes the bucket, runs first.
  const midnight = new Date((Math.floor(end / DAY_MS) + 2) * DAY_MS);
  return [
    { ID: `${LIFECYCLE_PREFIX}trash`, ...everything, Expiration: { Date: midnight } },
    {
      ID: `${LIFECYCLE_PREFIX}trash-versions`,
      ...everything,
      NoncurrentVersionExpiration: { NoncurrentDays: trashDays + 1 },
      Expiration: { ExpiredObjectDeleteMarker: true },
    },
    uploads,
  ];
};

/**
 * Denies access to the bucket's objects, even to the platform's own identity, so signed URLs stop working. Only S3
 * Files keeps access, to export a service's last writes. The platform can still list and abort incomplete uploads.
 * Bucket policies do not affect lifecycle rules
 * (https://docs.aws.amazon.com/AmazonS3/latest/userguide/object-lifecycle-mgmt.html).
 */
export const closedPolicy = ({ shared }: AwsConfig, bucket: string): object => {
  const arn = bucketArn(arnParts(shared.filesRoleArn), bucket);
  return {
    Version: "2012-10-17",
    Statement: [
      {
        Sid: "DeletedVolume",
        Effect: "Deny",
        Principal: "*",
        Action: ["s3:GetObject*", "s3:PutObject*", "s3:DeleteObject*", "s3:ListBucket", "s3:ListBucketVersions"],
        Resource: [arn, `${arn}/*`],
        Condition: { ArnNotEquals: { "aws:PrincipalArn": shared.filesRoleArn } },
      },
    ],
  };
};
