/** Replaces the keys of the local provider's accounts at certificate authorities. */
import type { RekeyedAccount } from "../../adapters/local/index.ts";
import { createSystemClock } from "../../adapters/shared/runtime/system.ts";
import { requireLocal } from "./doctor.ts";
import { createPino, loggerOf } from "./logger.ts";
import type { ServeSettings } from "./settings.ts";

/** @param discard whether to remove the accounts, so that the server registers new ones */
export const rekeyAccounts = async (
  settings: ServeSettings,
  discard: boolean,
  signal: AbortSignal,
): Promise<readonly RekeyedAccount[]> => {
  requireLocal(settings);
  const local = await import("../../adapters/local/index.ts");
  const logger = loggerOf(createPino("error"));
  return local.rekeyAccounts({ settings, discard, clock: createSystemClock(), logger, signal });
};
