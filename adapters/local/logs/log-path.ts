/** Names the file of an account's log. */
import { join } from "node:path";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";

export const LOG_ENDING = ".sqlite";

/** Path of the account's file, which exists once the account has logged. Keeps raw account ids out of file names. */
export const logPath = (folder: string, owner: AccountId): string =>
  join(folder, `${accountDigest(owner)}${LOG_ENDING}`);
