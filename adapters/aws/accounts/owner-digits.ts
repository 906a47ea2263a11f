/** The part of a bucket's or role's name that identifies its account. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";

/**
 * Twenty hexadecimal digits, 80 bits. IAM grants match a prefix of bucket names, so two accounts with the same digits
 * could read each other's volumes. With a million accounts, the probability of a collision is about one in three for
 * ten digits (40 bits), and less than one in 10^12 for twenty.
 */
export const OWNER_DIGITS = 20;

export const ownerDigits = (owner: AccountId): string => accountDigest(owner).slice(0, OWNER_DIGITS);
