/** Names of sources and images, derived from the account and the source's digest. Pure. */
import { createHash } from "node:crypto";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { accountDigest } from "../../../shared/accounts/account-digest.ts";

/** Must change when the same source would be built differently. */
const BUILDER_VERSION = "2";

/** The hex part of `sha256:HEX`, for use in names. */
const hexOf = (digest: string): string => digest.slice(digest.indexOf(":") + 1);

/** One repository holds the images of all accounts, so the tag names the account. It has 97 of at most 128 characters. */
export const tagOf = (owner: AccountId, digest: string): string => {
  const content = createHash("sha256")
    .update(`${BUILDER_VERSION}\0${hexOf(digest)}`)
    .digest("hex");
  return `${accountDigest(owner)}-${content}`;
};

export const sourceKeyOf = (owner: AccountId, digest: string): string =>
  `sources/${accountDigest(owner)}/${hexOf(digest)}.tar.gz`;
