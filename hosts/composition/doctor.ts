/** Checks the chosen provider's requirements and repairs the local data folder. */
import type { Finding } from "../../core/domain/wire/check.ts";
import { createPino, loggerOf } from "./logger.ts";
import { chooseProvider } from "./providers/choose-provider.ts";
import { formatList, providers } from "./providers/index.ts";
import { type ServeSettings, SettingsError } from "./settings.ts";

/** The names of the built-in providers that the doctor can check. */
export const diagnosable: readonly string[] = providers
  .filter(({ module }) => module.doctor !== undefined)
  .map(({ module }) => module.name);

export const requireLocal = ({ provider }: ServeSettings): void => {
  if (provider !== "local")
    throw new SettingsError(
      `This command works only with the provider 'local', but the configured provider is '${provider}'.`,
    );
};

/** Repairs or rebuilds the data folder. Reports each action and each loss to `say`. */
export const repair = async (
  settings: ServeSettings,
  how: "repair" | "rebuild",
  say: (line: string) => void,
): Promise<void> => {
  requireLocal(settings);
  const { repairDataFolder, rebuildDataFolder } = await import("../../adapters/local/data-folder/repair.ts");
  const logger = loggerOf(createPino("error"));
  await (how === "repair" ? repairDataFolder : rebuildDataFolder)(settings.dataDir, logger, say);
};

/** Returns the quarantine's path and size, and a function that deletes its content. */
export const findQuarantine = async (settings: ServeSettings) => {
  requireLocal(settings);
  const { quarantineOf } = await import("../../adapters/local/data-folder/repair.ts");
  const quarantine = quarantineOf(settings.dataDir);
  return { path: quarantine.folder, ...(await quarantine.size()), purge: () => quarantine.purge() };
};

/**
 * Checks the provider's requirements, such as credentials and tools. Yields each finding as soon as it is known.
 * @throws SettingsError if the provider has no checks
 */
export async function* diagnose(settings: ServeSettings, env: NodeJS.ProcessEnv): AsyncGenerator<Finding> {
  const { module, config } = await chooseProvider(settings);
  if (module.doctor === undefined)
    throw new SettingsError(
      `The provider '${settings.provider}' has no checks. portside doctor can check ${formatList(diagnosable)}.`,
    );
  yield* module.doctor(config, env);
}
