/** Starts a platform with its API, for `serve` and the quickstart. */
import { rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describeListenError, type Listening, listenOnLoopbacks } from "../../../adapters/shared/runtime/loopback.ts";
import type { CapabilitiesResponse } from "../../../core/control-plane.ts";
import { firstKey } from "../../composition/accounts/first-key.ts";
import { buildPlatform, type Platform } from "../../composition/build-platform.ts";
import type { ProviderDeps } from "../../composition/providers/provider-container-module.ts";
import type { ServeSettings } from "../../composition/settings.ts";
import { createMetricsServer } from "../../http/server/metrics-server.ts";
import { createServer } from "../../http/server/server.ts";
import { CommandError, cannotStart } from "../terminal/io.ts";
import { httpsUrlOf, type Listen, listenForApi, urlOf } from "./listen-for-api.ts";
import { resumeRedeploys } from "./resume-redeploys.ts";
import { listenForDecrypted } from "./tls-bridge.ts";

/** How long a draining server answers with `Connection: close` before a stop may close its idle connections. */
const CLOSE_MS = 1000;

/** Facts about a running platform, which the command prints. */
export interface ServingFacts {
  /** The URL of the metrics, if enabled. */
  readonly metrics: string | undefined;
  /** The first API key, only at the first start of a data folder. */
  readonly apiKey: string | undefined;
  readonly capabilities: CapabilitiesResponse;
}

export interface Serving extends ServingFacts {
  readonly url: string;
  /** The URL of the port that routes to services by host name; undefined if the provider has none. */
  readonly ingress: string | undefined;
  /** The pattern of the URLs that serve with TLS; undefined if the provider does not terminate TLS itself. */
  readonly https: string | undefined;
  /** The URL of the API at the TLS port; undefined if that port does not serve the API. */
  readonly httpsApi: string | undefined;
  /** Resolves when a new process has taken over. This process must then call `stop` and exit. */
  readonly replaced?: Promise<void>;
  /** Stops deploys, then the API, then the services of a local provider. */
  stop(): Promise<void>;
}

type Server = Awaited<ReturnType<typeof createServer>>;

const listenerOf =
  (app: Server): Listen =>
  (host, port) =>
    listenOnLoopbacks(
      host,
      port,
      async (address, free) => {
        await app.listen({ host: address, port: free });
        return (app.server.address() as { port: number }).port;
      },
      (socket) => app.server.emit("connection", socket),
    );

const listenForMetrics = async ({ metrics }: Platform, { metricsHost: host, metricsPort = 0 }: ServeSettings) => {
  if (metrics === undefined) return undefined;
  const app = createMetricsServer(metrics);
  const listening = await listenerOf(app)(host, metricsPort).catch((error: unknown) => {
    throw new CommandError(
      describeListenError(error, {
        port: metricsPort,
        purpose: "metrics",
        setting: "--metrics-port",
        address: { host, setting: "--metrics-host" },
      }),
    );
  });
  const close = () => Promise.all([listening.close(), app.close()]);
  return { close, url: `${urlOf(host, listening.port)}/metrics` };
};

/**
 * Opens a platform and the server of its API.
 * @param accept starts accepting connections, and returns the API's port. It calls `endSoon` for each connection that
 * the server must ask the client to close.
 */
const open = async (
  settings: ServeSettings,
  engine: ProviderDeps,
  accept: (app: Server, platform: Platform, endSoon: (socket: Socket) => void) => Promise<number>,
) => {
  await using stack = new AsyncDisposableStack();
  const platform = await buildPlatform(settings, {}, engine).catch(cannotStart);
  stack.defer(() => platform.close());
  const { controlPlane, loaded, log, metrics } = platform;
  let isDraining = false;
  /** Connections through an engine that ends soon. */
  const ending = new WeakSet<Socket>();
  const app = await createServer({
    controlPlane,
    logger: log,
    isDraining: (socket) => isDraining || ending.has(socket),
    console: settings.console ?? true,
    origins: settings.consoleOrigin === undefined ? [] : [settings.consoleOrigin],
    trustProxy: settings.trustProxy,
    hstsSeconds: settings.hstsMaxAge,
    ...(metrics && { onServed: metrics.apiServed }),
  });
  const port = await accept(app, platform, (socket) => void ending.add(socket));
  stack.defer(() => app.close());
  loaded.remembered?.("api_port").set(String(port));
  const metricsServer = await listenForMetrics(platform, settings);
  // From here on, `stop` closes everything.
  stack.move();
  const stopping = new AbortController();
  // Runs in the background, because a cloud may respond slowly.
  void resumeRedeploys({ controlPlane, clock: platform.ports.clock, log, stopping: stopping.signal });
  const certificates = controlPlane.keepCertificates({ signal: stopping.signal });
  return {
    port,
    ingressPort: loaded.ingressPort,
    tlsPort: loaded.tlsPort,
    httpsApi: loaded.httpsApi,
    metrics: metricsServer?.url,
    apiKey: await firstKey(platform),
    capabilities: controlPlane.capabilities(),
    drain: async (seconds: number) => {
      const late = sleep(seconds * 1000, undefined, { ref: false });
      await Promise.race([controlPlane.settle(), late]);
      isDraining = true;
      await sleep(CLOSE_MS);
      // Also wait for deploys that have begun in the meantime.
      await Promise.race([controlPlane.settle(), late]);
    },
    stop: async () => {
      log.info("stopping");
      stopping.abort();
      await certificates;
      // Ends the streams of running deploys. The server would otherwise wait for them.
      await controlPlane.close();
      await app.close();
      await platform.close();
      await metricsServer?.close();
    },
  };
};

/** Returns a function that serves a connection that another server has accepted. A stop waits for these connections. */
const passTo = (app: Server): ((socket: Socket) => void) => {
  const connections = new Set<Socket>();
  app.addHook("preClose", async () => {
    for (const socket of connections) await new Promise((resolve) => socket.once("close", resolve));
  });
  return (socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
    // As in Node's own server, a client may end its side after the request.
    socket.allowHalfOpen = true;
    app.server.emit("connection", socket);
  };
};

/** Throws a `CommandError` if the settings cannot be applied. */
export const startServing = async (settings: ServeSettings): Promise<Serving> => {
  let accept = (socket: Socket): void => void socket.destroy();
  const deps = { onApiConnection: (socket: Socket) => accept(socket) };
  const { port, ingressPort, tlsPort, ...serving } = await open(settings, deps, async (app, { loaded }) => {
    accept = passTo(app);
    let listening: Listening | undefined;
    // Fastify closes only its own listener. This one is on the second loopback address.
    app.addHook("preClose", async () => listening?.close());
    listening = await listenForApi(listenerOf(app), settings, Number(loaded.remembered?.("api_port").get() ?? 0));
    return listening.port;
  });
  return {
    ...serving,
    url: urlOf(settings.host, port),
    ingress: ingressPort === undefined ? undefined : urlOf(settings.host, ingressPort),
    https: httpsUrlOf(settings, tlsPort),
  };
};

export interface PassedServing extends ServingFacts {
  /** Serves a connection to the API's port. */
  accept(socket: Socket): void;
  /** Waits up to `seconds` for running deploys. Then asks clients to close their connections. */
  drain(seconds: number): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Starts the API behind an engine process, which accepts the connections and passes them to this process.
 * @param onEngineEnd called when the engine has ended, before requests fail because of it
 */
export const startPassedServing = async (
  settings: ServeSettings,
  { engineSocket, port }: { readonly engineSocket: string; readonly port: number },
  onEngineEnd: () => void,
): Promise<PassedServing> => {
  let accept: ((socket: Socket) => void) | undefined;
  const { metrics, apiKey, capabilities, drain, stop } = await open(
    settings,
    { engineSocket, onEngineEnd },
    async (app, _platform, endSoon) => {
      let decrypted: { close(): unknown } | undefined;
      app.addHook("preClose", async () => void decrypted?.close());
      const pass = passTo(app);
      // Node tracks connections and applies its timeouts only in a server that listens. No client uses this socket.
      const path = join(dirname(engineSocket), "server.sock");
      await rm(path, { force: true });
      await app.listen({ path, listenTextResolver: () => "the server accepts connections from the engine" });
      decrypted = await listenForDecrypted(engineSocket, (socket, endsSoon) => {
        if (endsSoon) endSoon(socket);
        pass(socket);
      });
      accept = pass;
      return port;
    },
  );
  return {
    metrics,
    apiKey,
    capabilities,
    drain,
    stop,
    accept: (socket) => accept?.(socket),
  };
};
