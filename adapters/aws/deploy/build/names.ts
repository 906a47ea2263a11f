/** Names of sources and images, derived from the account and the source's digest. Pure. */
import { createHash } from "node:crypto";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { accountDigest } from "../../../shared/accounts/account-digest.ts";

/** Increment this when the same source would build differently. */
const BUILDER_VERSION = "3";

/** The hexadecimal part of `sha256:HEX`. */
const hexOf = (digest: string): string => digest.slice(digest.indexOf(":") + 1);

/**
 * One repository contains the images of all accounts, so a tag contains the account's digest. A tag has 97 characters;
 * ECR allows 128.
 */
export const tagOf = (owner: AccountId, digest: string): string => {
  const content = createHash("sha256")
    .update(`${BUILDER_VERSION}\0${hexOf(digest)}`)
    .digest("hex");
  return `${accountDigest(owner)}-${content}`;
};

export const sourceKeyOf = (owner: AccountId, digest: string): string =>
  `sources/${accountDigest(owner)}/${hexOf(digest)}.tar.gz`;
