/** Creates an API key at the first start of a platform, because every request needs one. */
import { type AccountId, parseAccount } from "../../../core/domain/accounts/account.ts";
import type { Platform } from "../build-platform.ts";

/** The account that owns the first key. */
export const FIRST_ACCOUNT = "default";

/** Returns the new key. Returns undefined if keys exist already, the embedder manages them, or the creation fails. */
export const firstKey = async ({ claimFirstKey, ports }: Platform): Promise<string | undefined> => {
  if ((await claimFirstKey?.()) !== true) return undefined;
  const made = await ports.identity.keys.create(parseAccount(FIRST_ACCOUNT) as AccountId, "made at the first start");
  return made.isOk() ? made.value.key : undefined;
};
