/** Checks the chosen provider's requirements and repairs the local data folder. */
import type { Finding } from "../../core/domain/wire/check.ts";
import { createPino, loggerOf } from "./logger.ts";
import { awsConfigFrom, gcpConfigFrom } from "./providers/cloud-config.ts";
import { type ServeSettings, SettingsError } from "./settings.ts";

export const onlyLocal = ({ provider }: ServeSettings): void => {
  if (provider !== "local")
    throw new SettingsError(`Only the provider local has a data folder to work on, not '${provider}'.`);
};

/** Repairs or rebuilds the data folder. Calls `say` for each action and each loss it finds. */
export const repair = async (
  settings: ServeSettings,
  how: "repair" | "rebuild",
  say: (line: string) => void,
): Promise<void> => {
  onlyLocal(settings);
  const { repairDataFolder, rebuildDataFolder } = await import("../../adapters/local/data-folder/repair.ts");
  const logger = loggerOf(createPino("error"));
  await (how === "repair" ? repairDataFolder : rebuildDataFolder)(settings.dataDir, logger, say);
};

/** Returns the quarantine's path and size, and a function that deletes its content. */
export const findQuarantine = async (settings: ServeSettings) => {
  onlyLocal(settings);
  const { quarantineOf } = await import("../../adapters/local/data-folder/repair.ts");
  const quarantine = quarantineOf(settings.dataDir);
  return { path: quarantine.folder, ...(await quarantine.size()), purge: () => quarantine.purge() };
};

/**
 * Checks the provider's requirements, such as credentials and installed tools, and yields each finding immediately.
 * @throws SettingsError for any provider except local, gcp and aws
 */
export async function* diagnose(settings: ServeSettings, env: NodeJS.ProcessEnv): AsyncGenerator<Finding> {
  const { provider } = settings;
  if (provider === "local") {
    const { diagnoseLocal } = await import("../../adapters/local/doctor.ts");
    yield* diagnoseLocal(settings, env);
  } else if (provider === "gcp") {
    const { clientSource, diagnoseGcp, gcpConfigOf } = await import("../../adapters/gcp/index.ts");
    const config = gcpConfigOf(gcpConfigFrom(settings));
    yield* diagnoseGcp(config, clientSource(config.project));
  } else if (provider === "aws") {
    const { awsSettingsOf, clientSource, diagnoseAws } = await import("../../adapters/aws/index.ts");
    const config = awsSettingsOf(awsConfigFrom(settings));
    yield* diagnoseAws(config, clientSource(config.region));
  } else throw new SettingsError(`The doctor knows the providers local, gcp and aws, not '${provider}'.`);
}
