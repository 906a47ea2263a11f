/** Starts the engine of the local provider, for a server in another process. */
import type { LocalConfig } from "../../adapters/local/config.ts";
import type { RunningEngine } from "../../adapters/local/engine/open-engine.ts";
import {
  type EngineDeps,
  openSuccessor,
  type StartedEngine,
  type Successor,
  startEngine,
} from "../../adapters/local/engine/start-engine.ts";
import { type createPino, loggerOf } from "./logger.ts";
import { loadMetrics } from "./observability.ts";
import { chooseProvider } from "./providers/choose-provider.ts";
import type { ServeSettings } from "./settings.ts";

export type { Handover } from "../../adapters/local/engine/lease/lease.ts";
export type { RunningEngine } from "../../adapters/local/engine/open-engine.ts";
export { type Upgrade, UpgradeFailed } from "../../adapters/local/engine/socket/serve-engine.ts";
export type { StartedEngine, Successor } from "../../adapters/local/engine/start-engine.ts";

export type EngineCallbacks = Pick<EngineDeps, "upgrade" | "openApi" | "onApiConnection">;

const configOf = async (settings: ServeSettings, log: ReturnType<typeof createPino>, callbacks: EngineCallbacks) => {
  const { config } = await chooseProvider(settings);
  const metrics = await loadMetrics(settings);
  const deps: EngineDeps = { logger: loggerOf(log), ...callbacks, ...(metrics && { telemetry: metrics.telemetry }) };
  return { config: config as LocalConfig, deps };
};

/** @throws SettingsError if the configuration is not valid */
export const startLocalEngine = async (
  settings: ServeSettings,
  log: ReturnType<typeof createPino>,
  callbacks: EngineCallbacks,
): Promise<StartedEngine> => {
  const { config, deps } = await configOf(settings, log, callbacks);
  return startEngine(config, deps);
};

/**
 * Opens an engine that replaces a running one.
 * @throws SettingsError if the configuration is not valid
 */
export const openLocalSuccessor = async (
  settings: ServeSettings,
  log: ReturnType<typeof createPino>,
  callbacks: EngineCallbacks,
  running: RunningEngine,
): Promise<Successor> => {
  const { config, deps } = await configOf(settings, log, callbacks);
  return openSuccessor(config, deps, running);
};
