/** Starts the engine of a data folder in this process, for a server in another process. */
import type { Server } from "node:net";
import { resolve } from "node:path";
import type { TLSSocket } from "node:tls";
import type { Logger } from "../../../core/ports/system.ts";
import { noTelemetry, type Telemetry } from "../../../core/ports/telemetry.ts";
import { createSystemClock, randomIds } from "../../shared/runtime/system.ts";
import { type LocalConfigInput, localConfigSchema } from "../config.ts";
import { explainStartError } from "../data-folder/data-folder-error.ts";
import type { ListeningPort } from "../ingress/index.ts";
import type { Handover } from "./lease/lease.ts";
import { type OpenedEngine, openEngine, openWithoutLease, type RunningEngine } from "./open-engine.ts";
import { type EngineSocket, serveEngine, type Upgrade, UpgradeFailed } from "./socket/serve-engine.ts";
import { socketPath } from "./socket/socket-path.ts";

export interface StartedEngine extends AsyncDisposable {
  /** The path of the Unix socket, to pass to `createLocalProvider` as `engineSocket`. */
  readonly socket: string;
  /** The port that routes requests to services by host name. */
  readonly ingressPort: number;
  /** The port of HTTPS for all services; undefined if Portside does not terminate TLS. */
  readonly tlsPort: number | undefined;
  /** The URL of the API at that port; undefined if the port does not serve the API. */
  readonly httpsApi: string | undefined;
  /** How long running requests and deploys may take to finish, in seconds. */
  readonly drainSeconds: number;
  /** Describes this engine to an engine that will replace it. */
  describe(): RunningEngine;
  /** Applies state changes that the server has not reported yet. Returns the description of this engine. */
  settle(): Promise<RunningEngine>;
  /** Returns the ports with their listening servers, which the caller sends to the other engine. */
  listeningPorts(): readonly ListeningPort[];
  /** Stops writing logs and firing schedules, stops listening on the socket, and unlocks the data folder. */
  release(): Promise<Handover>;
  /** Passes this engine's reports to the engine that has taken over and listens at the path. */
  follow(socket: string): void;
  /** Undoes `release` and `follow` if the other engine has ended. */
  takeBack(handover: Handover): Promise<void>;
  /** Ends the instances of the other engine after it was killed. */
  endOthers(): Promise<void>;
  /**
   * Stops accepting connections. Disposing the engine then waits until the open connections have closed, but at most
   * for the drain time.
   */
  retire(): void;
}

export interface EngineDeps {
  readonly logger: Logger;
  /** Receives the engine's metrics. */
  readonly telemetry?: Telemetry;
  /** Supplies the PATH for finding programs, and the variables that locate the container engine. */
  readonly environment?: NodeJS.ProcessEnv;
  /** Replaces this engine with a new process. By default, the engine cannot be replaced. */
  readonly upgrade?: Upgrade;
  /**
   * Opens the API's port, before the engine opens the ports of services and chooses others.
   * @param previous the API's previous port, or 0
   */
  readonly openApi?: (previous: number) => Promise<void>;
  /** Receives each connection to the TLS port for the host `domain`. If undefined, the port does not serve it. */
  readonly onApiConnection?: (socket: TLSSocket) => void;
}

const cannotUpgrade: Upgrade = () => Promise.reject(new UpgradeFailed("This engine cannot be replaced. Restart it."));

const optionsOf = (
  input: LocalConfigInput,
  { logger, telemetry = noTelemetry, environment = process.env, onApiConnection }: EngineDeps,
) => {
  const config = localConfigSchema.parse(input);
  const dataDir = resolve(config.dataDir);
  const system = { clock: createSystemClock(), ids: randomIds };
  const deps = { environment, logger, telemetry, onApiConnection };
  return { ...system, ...deps, config, dataDir, keepsImages: true, logsInThread: true };
};

type Options = ReturnType<typeof optionsOf>;

/** Serves an engine that holds the lease. */
const serve = async (
  opened: OpenedEngine,
  { dataDir, logger, config }: Options,
  upgrade: Upgrade = cannotUpgrade,
): Promise<StartedEngine> => {
  const { engine, ingress, lease, ingressPort, tlsPort, httpsApi } = opened;
  const open = () => serveEngine({ ...opened, upgrade }, socketPath(dataDir), logger);
  let socket: EngineSocket = await open();
  let drained: Promise<void> = Promise.resolve();
  const describe = (): RunningEngine => ({
    socket: socket.path,
    ports: ingress.listeningPorts().map(({ port, use }) => ({ port, use })),
    services: engine.running,
  });
  return {
    get socket() {
      return socket.path;
    },
    ingressPort,
    tlsPort,
    httpsApi,
    drainSeconds: config.drainSeconds,
    describe,
    settle: async () => {
      await engine.apply();
      return describe();
    },
    listeningPorts: () => ingress.listeningPorts(),
    release: () => {
      socket.stopListening();
      return opened.releaseLease();
    },
    takeBack: async (handover) => {
      await opened.takeLease(handover);
      socket = await open();
    },
    follow: (path) => lease.forwardTo(path),
    endOthers: () => opened.endOthers(),
    retire: () => {
      drained = ingress.drain(config.drainSeconds * 1000);
    },
    [Symbol.asyncDispose]: async () => {
      await drained;
      await socket[Symbol.asyncDispose]();
      await opened[Symbol.asyncDispose]();
    },
  };
};

/**
 * Opens the data folder and serves its services. Disposing the engine stops all instances within the drain and grace
 * times. Throws the same errors as `createLocalProvider`.
 */
export const startEngine = async (input: LocalConfigInput, deps: EngineDeps): Promise<StartedEngine> => {
  const options = optionsOf(input, deps);
  await using stack = new AsyncDisposableStack();
  try {
    const opened = stack.use(await openEngine(options));
    await deps.openApi?.(opened.state.sharedPort("api_port") ?? 0);
    const started = await serve(opened, options, deps.upgrade);
    // The started engine disposes the opened one.
    stack.move();
    await using startedStack = new AsyncDisposableStack();
    startedStack.use(started);
    // Serve the stored services before a server has connected.
    await opened.engine.apply();
    startedStack.move();
    return started;
  } catch (error) {
    throw explainStartError(error, options.dataDir) ?? error;
  }
};

/** An engine that replaces a running one. The caller must call `settle`, then `adopt` for each port, then `lead`. */
export interface Successor extends AsyncDisposable {
  /** Starts instances of services that have changed. The caller must ensure that the state no longer changes. */
  settle(running: RunningEngine): Promise<void>;
  /**
   * Accepts connections to a port of the running engine.
   * @param received the listening server. The caller must be in the `message` event that delivered it.
   */
  adopt(port: number, received: Server): void;
  /** Takes over the data folder after the running engine has released it. */
  lead(handover: Handover): Promise<StartedEngine>;
}

/**
 * Opens a data folder that a running engine uses. Starts an instance of each service that has an instance in that
 * engine, unless all of these instances are frozen. Throws if no service can start an instance, or if another process
 * is already starting.
 */
export const openSuccessor = async (
  input: LocalConfigInput,
  deps: EngineDeps,
  running: RunningEngine,
): Promise<Successor> => {
  const options = optionsOf(input, deps);
  await using stack = new AsyncDisposableStack();
  const opened = stack.use(await openWithoutLease(options, running));
  const { engine, ingress, lease } = opened;
  lease.forwardTo(running.socket);
  const follow = async (now: RunningEngine) => {
    await ingress.inherit(now.ports);
    await engine.apply();
    await engine.warm(now.services);
  };
  await follow(running);
  const teardown = stack.move();
  return {
    settle: follow,
    adopt: (port, received) => ingress.adopt(port, received),
    lead: async (handover) => {
      await opened.takeLease(handover);
      return serve(opened, options, deps.upgrade);
    },
    [Symbol.asyncDispose]: () => teardown.disposeAsync(),
  };
};
