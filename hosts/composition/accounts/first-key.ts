/** A platform without any key would be of no use to anybody: its first start makes one. */
import { type AccountId, parseAccount } from "../../../core/domain/accounts/account.ts";
import type { Platform } from "../container.ts";

/** The account of the first key. */
export const FIRST_ACCOUNT = "default";

/** The new key, or undefined where there are keys already, or the provider keeps them elsewhere. */
export const firstKey = async ({ parts, ports }: Platform): Promise<string | undefined> => {
  if ((await parts.claimFirstKey?.()) !== true) return undefined;
  const made = await ports.identity.keys.create(parseAccount(FIRST_ACCOUNT) as AccountId, "made at the first start");
  return made.isOk() ? made.value.key : undefined;
};
