/** Names the file of an account's log. */
import { statSync } from "node:fs";
import { join } from "node:path";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";

export const LOG_ENDING = ".sqlite";

/** Path of the account's file, which exists once the account has logged. Keeps raw account ids out of file names. */
export const logPath = (folder: string, owner: AccountId): string =>
  join(folder, `${accountDigest(owner)}${LOG_ENDING}`);

/**
 * Identifies the file at a path, or returns undefined if there is none. Another file at the same path has another id. Does
 * not open the file, because closing any handle of a file drops SQLite's locks on it.
 */
export const fileIdOf = (path: string): string | undefined => {
  const found = statSync(path, { bigint: true, throwIfNoEntry: false });
  return found === undefined ? undefined : `${found.dev}:${found.ino}`;
};
