/** Names the file of an account's log. */
import { join } from "node:path";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";

export const LOG_ENDING = ".sqlite";

/**
 * Returns the path of the account's log file, which exists after the account's first entry. The name is a digest,
 * because an account name may contain `/` and may be too long for a file name with a suffix.
 */
export const logPath = (folder: string, owner: AccountId): string =>
  join(folder, `${accountDigest(owner)}${LOG_ENDING}`);
