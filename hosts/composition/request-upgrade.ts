/**
 * Asks a running engine to replace itself. This file is separate so that `portside upgrade` does not load the engine.
 */
import { resolve } from "node:path";
import { EngineUnreachable, UnknownCall } from "../../adapters/local/engine/socket/caller.ts";
import { requestUpgrade } from "../../adapters/local/engine/socket/connect-engine.ts";
import { requireLocal } from "./doctor.ts";
import type { ServeSettings } from "./settings.ts";

export class UpgradeRefused extends Error {}

const explain = (cause: unknown, dataDir: string): string => {
  if (cause instanceof UnknownCall)
    return "The running version cannot be upgraded without a restart. Restart the server.";
  if (!(cause instanceof EngineUnreachable)) return (cause as Error).message;
  if ((cause.cause as NodeJS.ErrnoException | undefined)?.code === "EACCES")
    return `This user has no permission to open the data folder ${dataDir}. Run the command as the server's user.`;
  return `No engine answers in the data folder ${dataDir}. Start the server with 'portside serve', or pass the data folder of a running server with --data-dir. If the server runs with --engine inline, restart it instead.`;
};

/**
 * Upgrades the engine of the data folder. Resolves to the process id of the new engine. Throws an `UpgradeRefused` with
 * the reason if no engine runs, or if the upgrade fails and the running engine continues.
 */
export const upgradeLocalEngine = async (settings: ServeSettings, say: (message: string) => void): Promise<number> => {
  requireLocal(settings);
  const dataDir = resolve(settings.dataDir);
  try {
    return await requestUpgrade(dataDir, say);
  } catch (cause) {
    throw new UpgradeRefused(explain(cause, dataDir), { cause });
  }
};
