/**
 * Names of buckets. They are global, so each ends in a random part that nobody can have taken before; and they may not
 * contain Google's own name: https://cloud.google.com/storage/docs/buckets#naming
 */
import { createHash } from "node:crypto";
import type { AccountId } from "../../../core/domain/account.ts";
import type { VolumeName } from "../../../core/domain/names.ts";
import { shortAccountDigest } from "../../shared/account-digest.ts";

/** With the other parts it makes 63 characters, the most that a bucket's name may have, with the longest volume name. */
const RANDOM = 8;

/** `google`, and what is close to it: `g00gle`. */
const GOOGLE = /g[o0]+g/;

const volumePart = (name: VolumeName): string =>
  GOOGLE.test(name) ? `x${createHash("sha256").update(name).digest("hex").slice(0, 16)}` : name;

/** What the buckets of all of the account's volumes begin with. */
export const accountPrefix = (owner: AccountId): string => `ps-${shortAccountDigest(owner)}-`;

/** What the account's buckets of that volume name begin with; others may, too. */
export const volumePrefix = (owner: AccountId, name: VolumeName): string =>
  `${accountPrefix(owner)}${volumePart(name)}-`;

/** @param random letters and digits */
export const bucketName = (owner: AccountId, name: VolumeName, random: string): string =>
  `${volumePrefix(owner, name)}${random.slice(0, RANDOM)}`;

/** The bucket that says which bucket each volume name stands for (see `claims.ts`). */
export const claimsBucket = (project: string): string =>
  `${project.replaceAll(/[^a-z0-9-]/g, "-").slice(0, 45)}-portside-volumes`;
