/** Bucket names are valid in S3 and unique to their account. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { ownerDigits } from "../../../../adapters/aws/accounts/owner-digits.ts";
import { bucketName, bucketPrefix, ownerOfBucket } from "../../../../adapters/aws/volumes/names.ts";
import { randomIds } from "../../../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { parseVolumeName, type VolumeName } from "../../../../core/domain/wire/names.ts";

/** Whether S3 accepts a bucket name: https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html */
const isTaken = (name: string): boolean =>
  /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/.test(name) &&
  !/^(xn--|sthree-|amzn-s3-demo-)|(-s3alias|--ol-s3|--x-s3|--table-s3)$/.test(name);

const volumeName = fc
  .stringMatching(/^[a-z0-9][a-z0-9-]{0,38}[a-z0-9]$|^[a-z0-9]$/)
  .filter((name) => parseVolumeName(name) !== undefined)
  .map((name) => name as VolumeName);

test("every volume name yields a valid bucket name that contains the account's digits", () => {
  const nasty = ["a", "a--b", "x".repeat(40), `${"x".repeat(29)}-${"y".repeat(10)}`, "x-s3alias"] as VolumeName[];
  fc.assert(
    fc.property(fc.oneof(volumeName, fc.constantFrom(...nasty)), fc.string(), (name, account) => {
      const owner = account as AccountId;
      const bucket = bucketName(owner, name, randomIds.id());
      expect(isTaken(bucket), bucket).toBe(true);
      expect(bucket.startsWith(bucketPrefix(ownerDigits(owner)))).toBe(true);
      expect(ownerOfBucket(bucket)).toBe(ownerDigits(owner));
    }),
  );
});

test("the bucket name contains the volume's name but not the account", () => {
  const bucket = bucketName("someuser@example.com" as AccountId, "data" as VolumeName, randomIds.id());
  expect(bucket).toMatch(/^ps-[0-9a-f]{20}-data-[a-z0-9]{8}$/);
});
