/** Bucket names are valid on Google Cloud, and unique. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { accountPrefix, bucketName, claimsBucket, volumePrefix } from "../../../../adapters/gcp/volumes/names.ts";
import { randomIds } from "../../../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { parseVolumeName, type VolumeName } from "../../../../core/domain/wire/names.ts";

const acme = "acme" as AccountId;

/** Whether Cloud Storage accepts a bucket name: https://cloud.google.com/storage/docs/buckets#naming */
const isTaken = (name: string): boolean =>
  /^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$/.test(name) && !name.startsWith("goog") && !/g[o0]+gle/.test(name);

const volumeName = fc
  .stringMatching(/^[a-z0-9][a-z0-9-]{0,38}[a-z0-9]$|^[a-z0-9]$/)
  .filter((name) => parseVolumeName(name) !== undefined)
  .map((name) => name as VolumeName);

test("every volume name yields a valid bucket name", () => {
  const nasty = ["google", "g00gle-data", "my-gooogle", "goog", "a", "a--b", "x".repeat(40)] as VolumeName[];
  fc.assert(
    fc.property(fc.oneof(volumeName, fc.constantFrom(...nasty)), fc.string(), (name, owner) => {
      const bucket = bucketName(owner as AccountId, name, "abcdefgh12345678");
      expect(isTaken(bucket), bucket).toBe(true);
      expect(bucket.startsWith(volumePrefix(owner as AccountId, name))).toBe(true);
      expect(bucket.startsWith(accountPrefix(owner as AccountId))).toBe(true);
    }),
  );
});

test("the bucket name contains the volume's name but not the account", () => {
  const bucket = bucketName("someuser@example.com" as AccountId, "data" as VolumeName, randomIds.id());
  expect(bucket).toMatch(/^ps-[0-9a-f]{10}-data-[a-z0-9]{8}$/);
});

test("two volumes of the same name have different buckets", () => {
  const make = () => bucketName(acme, "data" as VolumeName, randomIds.id());
  expect(make()).not.toBe(make());
});

test("the claims bucket of a project has a valid name", () => {
  expect(claimsBucket("my-project-1")).toBe("my-project-1-portside-volumes");
  expect(isTaken(claimsBucket(`example.com:${"p".repeat(30)}-${"q".repeat(20)}`))).toBe(true);
});
