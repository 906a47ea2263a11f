/** Asks a running engine to replace itself. In a separate file, so that `portside upgrade` loads no engine. */
import { join, resolve } from "node:path";
import { EngineUnreachable } from "../../adapters/local/engine/socket/caller.ts";
import { requestUpgrade } from "../../adapters/local/engine/socket/connect-engine.ts";
import { onlyLocal } from "./doctor.ts";
import type { ServeSettings } from "./settings.ts";

export class UpgradeRefused extends Error {}

/**
 * Upgrades the engine of the data folder. Returns the id of the new process. Throws an `UpgradeRefused` with the reason
 * if no engine runs, or if the running engine continues.
 */
export const upgradeLocalEngine = async (settings: ServeSettings, say: (message: string) => void): Promise<number> => {
  onlyLocal(settings);
  const dataDir = resolve(settings.dataDir);
  try {
    return await requestUpgrade(join(dataDir, "engine", "engine.sock"), say);
  } catch (cause) {
    if (!(cause instanceof EngineUnreachable)) throw new UpgradeRefused((cause as Error).message, { cause });
    throw new UpgradeRefused(
      `No engine answers in the data folder ${dataDir}. Start one with 'portside serve', or pass its folder with --data-dir.`,
      { cause },
    );
  }
};
