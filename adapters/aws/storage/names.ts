/**
 * Names of buckets, and of what stands in the state bucket about them. Buckets' names are global, so each ends in a
 * random part that nobody can have taken before:
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
 */
import type { AccountId } from "../../../core/domain/account.ts";
import type { VolumeName } from "../../../core/domain/names.ts";
import { accountDigest } from "../../shared/account-digest.ts";
import { OWNER_DIGITS, ownerDigits } from "../owner-digits.ts";

const PREFIX = "ps-";
/** The most that a bucket's name may have. */
const LONGEST = 63;
const RANDOM = 8;
/** What is left for the volume's name, which people read; the whole of it is in the account's record. */
const VOLUME = LONGEST - PREFIX.length - OWNER_DIGITS - RANDOM - "--".length;

/** What the buckets of the owner with these digits begin with. */
export const bucketPrefix = (digits: string): string => `${PREFIX}${digits}-`;

/** @param random lower-case letters and digits */
export const bucketName = (owner: AccountId, name: VolumeName, random: string): string =>
  `${bucketPrefix(ownerDigits(owner))}${name.slice(0, VOLUME)}-${random.slice(0, RANDOM)}`;

/** The digits of the owner whose bucket it is. */
export const ownerOfBucket = (bucket: string): string => bucket.slice(PREFIX.length, PREFIX.length + OWNER_DIGITS);

/** In the state bucket. */
export const recordsPrefix = "volumes/";

/** The object that says which volumes the account has. */
export const recordsKey = (digest: string): string => `${recordsPrefix}${digest}.json`;

/** The account's digest of such an object; undefined for another one. */
export const digestOfRecords = (key: string): string | undefined => /^volumes\/([0-9a-f]{32})\.json$/.exec(key)?.[1];

/** What the marks of every account that has a volume of the name begin with. */
export const marksPrefix = (name: VolumeName): string => `volume-names/${name}/`;

export const ownMarksPrefix = (owner: AccountId, name: VolumeName): string =>
  `${marksPrefix(name)}${accountDigest(owner)}/`;
