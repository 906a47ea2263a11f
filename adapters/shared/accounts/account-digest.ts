/**
 * Digests of account names, for the names of files and for the names and labels of cloud resources. Resources must not
 * contain the account names themselves, which may be email addresses.
 */
import { createHash } from "node:crypto";
import type { AccountId } from "../../../core/domain/accounts/account.ts";

/** Returns 32 hexadecimal digits, for labels. */
export const accountDigest = (owner: AccountId): string =>
  createHash("sha256").update(owner).digest("hex").slice(0, 32);

/**
 * Returns the first ten digits, for names with a length limit. They may collide, so callers must check the label too.
 */
export const shortAccountDigest = (owner: AccountId): string => accountDigest(owner).slice(0, 10);

/** The owner of a cloud name that another system uses. It is empty, so it does not equal any account. */
export const NOBODY = "" as AccountId;
