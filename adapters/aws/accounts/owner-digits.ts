/** The part of a bucket's or role's name that identifies its account. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";

/**
 * Twenty hex digits, 80 bits. IAM grants go by the prefix of a bucket's name, so two accounts with the same digits could
 * read each other's volumes. Among a million accounts, a collision has a probability of one in three with ten digits (40
 * bits), and of one in a million million with twenty.
 */
export const OWNER_DIGITS = 20;

export const ownerDigits = (owner: AccountId): string => accountDigest(owner).slice(0, OWNER_DIGITS);
