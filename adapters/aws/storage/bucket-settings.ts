/** How the platform's buckets are made, closed when they go to the trash, and opened again. Pure. */
import type { LifecycleRule } from "@aws-sdk/client-s3";
import { type Instant, millisOf } from "../../../core/domain/instant.ts";
import { trashDays } from "../../../core/domain/limits.ts";
import { restorableUntil } from "../../../core/domain/volume.ts";
import { arnParts, bucketArn } from "../arns.ts";
import type { AwsConfig } from "../config.ts";
import type { VolumeRecord } from "./record.ts";

/** Also at the file systems of volumes. */
export const OWNER_TAG = "portside-owner";

/** For people and bills; nothing is decided by them. */
export const bucketTags = (account: string, { name }: Pick<VolumeRecord, "name">): Record<string, string> => ({
  [OWNER_TAG]: account,
  "portside-volume": name,
});

const DAY_MS = 86_400_000;

/** An upload's URLs are good for an hour. */
const UPLOAD_DAYS = 2;

const everything = { Filter: { Prefix: "" }, Status: "Enabled" } as const;

const uploads: LifecycleRule = {
  ID: "uploads-that-never-ended",
  ...everything,
  AbortIncompleteMultipartUpload: { DaysAfterInitiation: UPLOAD_DAYS },
};

/**
 * Of a volume that lives. S3 Files needs versions (.../userguide/s3-files-prereq-policies.html); what was replaced is of
 * no more use, and costs as much as what replaced it.
 */
export const liveLifecycle = (): LifecycleRule[] => [
  {
    ID: "replaced-versions",
    ...everything,
    NoncurrentVersionExpiration: { NoncurrentDays: trashDays },
    Expiration: { ExpiredObjectDeleteMarker: true },
  },
  uploads,
];

/**
 * Of one in the trash: a backstop where no platform runs any more that would purge it. A date has to be a midnight; and
 * a rule that takes delete markers away cannot have one (.../API/API_LifecycleExpiration.html).
 */
export const trashLifecycle = ({ deletedAt }: Pick<VolumeRecord, "deletedAt">, now: Instant): LifecycleRule[] => {
  const end = deletedAt === undefined ? millisOf(now) + trashDays * DAY_MS : millisOf(restorableUntil(deletedAt));
  // A day more, so that a purge by the platform, which deletes the bucket as well, comes first.
  const midnight = new Date((Math.floor(end / DAY_MS) + 2) * DAY_MS);
  return [
    { ID: "trash", ...everything, Expiration: { Date: midnight } },
    {
      ID: "trash-versions",
      ...everything,
      NoncurrentVersionExpiration: { NoncurrentDays: trashDays + 1 },
      Expiration: { ExpiredObjectDeleteMarker: true },
    },
    uploads,
  ];
};

/**
 * Closes a bucket: a denial holds for the platform's own identity as well, by which URLs are signed. S3 Files may still
 * bring what a service has written last; and lifecycle rules do not ask (.../userguide/object-lifecycle-mgmt.html).
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
        Action: ["s3:GetObject*", "s3:PutObject*", "s3:DeleteObject*", "s3:ListBucket*"],
        Resource: [arn, `${arn}/*`],
        Condition: { ArnNotEquals: { "aws:PrincipalArn": shared.filesRoleArn } },
      },
    ],
  };
};
