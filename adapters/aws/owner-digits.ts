/** Whose a bucket or a role is, in its name. */
import type { AccountId } from "../../core/domain/account.ts";
import { accountDigest } from "../shared/account-digest.ts";

/**
 * Twenty hex digits, 80 bits: rights go by the beginning of a bucket's name, so that two accounts of one beginning
 * would read each other's volumes. With ten digits, 40 bits, there are two such among a million accounts with a chance
 * of one in three; with eighty bits, of one in a million million.
 */
export const OWNER_DIGITS = 20;

export const ownerDigits = (owner: AccountId): string => accountDigest(owner).slice(0, OWNER_DIGITS);
