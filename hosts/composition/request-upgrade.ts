/** Asks a running engine to replace itself. In a separate file, so that `portside upgrade` loads no engine. */
import { resolve } from "node:path";
import { EngineUnreachable, UnknownCall } from "../../adapters/local/engine/socket/caller.ts";
import { requestUpgrade } from "../../adapters/local/engine/socket/connect-engine.ts";
import { onlyLocal } from "./doctor.ts";
import type { ServeSettings } from "./settings.ts";

export class UpgradeRefused extends Error {}

const explain = (cause: unknown, dataDir: string): string => {
  if (cause instanceof UnknownCall) return "The running version cannot be upgraded while it runs. Restart it.";
  if (!(cause instanceof EngineUnreachable)) return (cause as Error).message;
  if ((cause.cause as NodeJS.ErrnoException | undefined)?.code === "EACCES")
    return `This user may not open the data folder ${dataDir}. Run the command as the server's user.`;
  return `No engine answers in the data folder ${dataDir}. Start one with 'portside serve', or pass its folder with --data-dir. A server with --engine inline needs a restart instead.`;
};

/**
 * Upgrades the engine of the data folder. Returns the id of the new process. Throws an `UpgradeRefused` with the reason
 * if no engine runs, or if the running engine continues.
 */
export const upgradeLocalEngine = async (settings: ServeSettings, say: (message: string) => void): Promise<number> => {
  onlyLocal(settings);
  const dataDir = resolve(settings.dataDir);
  try {
    return await requestUpgrade(dataDir, say);
  } catch (cause) {
    throw new UpgradeRefused(explain(cause, dataDir), { cause });
  }
};
