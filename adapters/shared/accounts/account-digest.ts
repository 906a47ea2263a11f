/** Accounts on a cloud: names and labels there carry a digest, never the raw id, which may be somebody's address. */
import { createHash } from "node:crypto";
import type { AccountId } from "../../../core/domain/accounts/account.ts";

/** 32 hex digits: a label. */
export const accountDigest = (owner: AccountId): string =>
  createHash("sha256").update(owner).digest("hex").slice(0, 32);

/** The first ten of them, for names that are bounded; what carries it is looked at by its label as well. */
export const shortAccountDigest = (owner: AccountId): string => accountDigest(owner).slice(0, 10);

/** Holds names on a cloud that none of our accounts took. No account has it: theirs are not empty. */
export const NOBODY = "" as AccountId;
