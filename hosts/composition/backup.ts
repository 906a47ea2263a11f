/** Backs up and restores the local provider's data folder. */
import type { BackupOptions, BackupSummary, RestoreOptions, RestoreSummary } from "../../adapters/local/index.ts";
import { requireLocal } from "./doctor.ts";
import { type ServeSettings, SettingsError } from "./settings.ts";

export type Transfer = Omit<BackupOptions, "dataDir"> & Omit<RestoreOptions, "dataDir">;

export const backUp = async (settings: ServeSettings, transfer: Transfer): Promise<BackupSummary> => {
  requireLocal(settings);
  const { secretsKeyFile } = settings;
  if (transfer.withSecretsKey === true && secretsKeyFile !== undefined)
    throw new SettingsError(
      `The secrets key is in ${secretsKeyFile}, outside of the data folder. Copy that file, and omit --with-secrets-key.`,
    );
  const { backupDataFolder } = await import("../../adapters/local/index.ts");
  return backupDataFolder({ dataDir: settings.dataDir, ...transfer });
};

export const restore = async (settings: ServeSettings, transfer: Transfer): Promise<RestoreSummary> => {
  requireLocal(settings);
  const { restoreDataFolder } = await import("../../adapters/local/index.ts");
  return restoreDataFolder({ dataDir: settings.dataDir, ...transfer });
};

/** Returns true if the error's message already contains the next step for the operator. */
export const isExplained = async (error: unknown): Promise<boolean> => {
  const { BackupError, DataFolderError } = await import("../../adapters/local/index.ts");
  return error instanceof BackupError || error instanceof DataFolderError;
};
