/** Starts the engine of the local provider, for a server in another process. */
import type { LocalConfig } from "../../adapters/local/config.ts";
import { type StartedEngine, startEngine } from "../../adapters/local/engine/start-engine.ts";
import { type createPino, loggerOf } from "./logger.ts";
import { loadMetrics } from "./observability.ts";
import { chooseProvider } from "./providers/choose-provider.ts";
import type { ServeSettings } from "./settings.ts";

/** @throws SettingsError if the configuration is not valid */
export const startLocalEngine = async (
  settings: ServeSettings,
  log: ReturnType<typeof createPino>,
): Promise<StartedEngine> => {
  const { config } = await chooseProvider(settings);
  const metrics = await loadMetrics(settings);
  return startEngine(config as LocalConfig, {
    logger: loggerOf(log),
    ...(metrics && { telemetry: metrics.telemetry }),
  });
};
