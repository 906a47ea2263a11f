/** Replaces the key of the local provider's secrets. */
import type { RekeySummary } from "../../adapters/local/index.ts";
import { requireLocal } from "./doctor.ts";
import type { ServeSettings } from "./settings.ts";

/** @param discard whether to delete all secrets, because their key is lost */
export const rekey = async (settings: ServeSettings, discard: boolean): Promise<RekeySummary> => {
  requireLocal(settings);
  const { rekeySecrets } = await import("../../adapters/local/index.ts");
  const { dataDir, secretsKeyFile } = settings;
  return rekeySecrets({ dataDir, secretsKeyFile, discard });
};
