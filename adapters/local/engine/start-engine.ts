/** Starts the engine of a data folder in this process, for a server in another process. */
import { join, resolve } from "node:path";
import type { Logger } from "../../../core/ports/system.ts";
import { noTelemetry, type Telemetry } from "../../../core/ports/telemetry.ts";
import { createSystemClock, randomIds } from "../../shared/runtime/system.ts";
import { type LocalConfigInput, localConfigSchema } from "../config.ts";
import { explainStartError } from "../data-folder/data-folder-error.ts";
import { openEngine } from "./open-engine.ts";
import { serveEngine } from "./socket/serve-engine.ts";

export interface StartedEngine extends AsyncDisposable {
  /** The path of the Unix socket, to pass to `createLocalProvider` as `engineSocket`. */
  readonly socket: string;
  /** The API's previous port, if the data folder has one. */
  readonly apiPort: number | undefined;
  /** The port that routes requests to services by host name. */
  readonly ingressPort: number;
}

export interface EngineDeps {
  readonly logger: Logger;
  /** Receives the engine's metrics. */
  readonly telemetry?: Telemetry;
  /** Supplies the PATH for finding programs, and the variables that locate the container engine. */
  readonly environment?: NodeJS.ProcessEnv;
}

/**
 * Opens the data folder and serves its services. Disposing the engine stops all instances within the drain and grace
 * times. Throws the same errors as `createLocalProvider`.
 */
export const startEngine = async (input: LocalConfigInput, deps: EngineDeps): Promise<StartedEngine> => {
  const { logger, telemetry = noTelemetry, environment = process.env } = deps;
  const config = localConfigSchema.parse(input);
  const dataDir = resolve(config.dataDir);
  await using stack = new AsyncDisposableStack();
  try {
    const base = { config, dataDir, environment, logger, telemetry, keepsImages: true };
    const opened = stack.use(await openEngine({ ...base, clock: createSystemClock(), ids: randomIds }));
    const { path } = stack.use(await serveEngine(opened, join(dataDir, "engine", "engine.sock"), logger));
    // Serve the stored services without waiting for a server.
    await opened.engine.apply();
    const teardown = stack.move();
    const { state, ingressPort } = opened;
    const apiPort = state.sharedPort("api_port");
    return { socket: path, apiPort, ingressPort, [Symbol.asyncDispose]: () => teardown.disposeAsync() };
  } catch (error) {
    throw explainStartError(error, dataDir) ?? error;
  }
};
