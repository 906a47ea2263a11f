/**
 * Bucket names. They are global, so the name of a volume's bucket ends in random characters. Names must not contain
 * "google" or close misspellings: https://cloud.google.com/storage/docs/buckets#naming
 */
import { createHash } from "node:crypto";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import { shortAccountDigest } from "../../shared/accounts/account-digest.ts";

/** Length of the random suffix. With the longest volume name, a bucket name has 63 characters, the maximum. */
const RANDOM = 8;

/** `google`, and close spellings such as `g00gle`. */
const GOOGLE = /g[o0]+g/;

const volumePart = (name: VolumeName): string =>
  GOOGLE.test(name) ? `x${createHash("sha256").update(name).digest("hex").slice(0, 16)}` : name;

/** Prefix of all volume buckets. */
export const BUCKET_PREFIX = "ps-";

/** Prefix of all volume buckets of the account. */
export const accountPrefix = (owner: AccountId): string => `${BUCKET_PREFIX}${shortAccountDigest(owner)}-`;

/** Prefix of the account's buckets for this volume name. Buckets of other volume names may have the same prefix. */
export const volumePrefix = (owner: AccountId, name: VolumeName): string =>
  `${accountPrefix(owner)}${volumePart(name)}-`;

/** @param random letters and digits */
export const bucketName = (owner: AccountId, name: VolumeName, random: string): string =>
  `${volumePrefix(owner, name)}${random.slice(0, RANDOM)}`;

/** The bucket whose objects record which bucket each volume name refers to (`claims.ts`). */
export const claimsBucket = (project: string): string =>
  `${project.replaceAll(/[^a-z0-9-]/g, "-").slice(0, 45)}-portside-volumes`;
