/**
 * Names of volume buckets, and keys of volume records and marks in the state bucket. Bucket names are global, so each
 * ends in random characters. Otherwise, another AWS account could guess a name and claim it first.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/bucketnamingrules.html
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import { OWNER_DIGITS, ownerDigits } from "../accounts/owner-digits.ts";

const PREFIX = "ps-";
/** Maximum length of a bucket name. */
const MAX_LENGTH = 63;
const RANDOM_LENGTH = 8;
/**
 * Maximum characters of the volume's name in a bucket's name. Operators recognize the volume by them; the record
 * contains the full name.
 */
const VOLUME_LENGTH = MAX_LENGTH - PREFIX.length - OWNER_DIGITS - RANDOM_LENGTH - "--".length;

/** Prefix of the bucket names of the account with these digits. */
export const bucketPrefix = (digits: string): string => `${PREFIX}${digits}-`;

/** @param random lower-case letters and digits */
export const bucketName = (owner: AccountId, name: VolumeName, random: string): string =>
  `${bucketPrefix(ownerDigits(owner))}${name.slice(0, VOLUME_LENGTH)}-${random.slice(0, RANDOM_LENGTH)}`;

/** Returns the owner's digits in a bucket's name. */
export const ownerOfBucket = (bucket: string): string => bucket.slice(PREFIX.length, PREFIX.length + OWNER_DIGITS);

/** Key prefix of the volume records in the state bucket. */
export const recordsPrefix = "volumes/";

/** Key of the object that contains an account's volume records. */
export const recordsKey = (digest: string): string => `${recordsPrefix}${digest}.json`;

/** The account digest in a records key; undefined for other keys. */
export const digestOfRecords = (key: string): string | undefined => /^volumes\/([0-9a-f]{32})\.json$/.exec(key)?.[1];

/** Prefix of all marks for the name, across accounts. */
export const marksPrefix = (name: VolumeName): string => `volume-names/${name}/`;
