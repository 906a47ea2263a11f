/** Starts a platform with its API, for `serve` and the quickstart. */
import { isIP } from "node:net";
import { describeListenError, type Listening, listenOnLoopbacks } from "../../../adapters/shared/runtime/loopback.ts";
import { firstKey } from "../../composition/accounts/first-key.ts";
import { buildPlatform, type Platform } from "../../composition/build-platform.ts";
import type { ServeSettings } from "../../composition/settings.ts";
import { createMetricsServer } from "../../http/server/metrics-server.ts";
import { createServer } from "../../http/server/server.ts";
import { CommandError, cannotStart } from "../terminal/io.ts";

export interface Serving {
  readonly url: string;
  /** The URL of the port that routes to services by host name; undefined if the provider has none. */
  readonly ingress: string | undefined;
  /** The URL of the metrics, if enabled. */
  readonly metrics: string | undefined;
  /** The first API key, only at the first start of a data folder. */
  readonly apiKey: string | undefined;
  readonly platform: Platform;
  /** Stops deploys, then the API, then services. */
  stop(): Promise<void>;
}

/** Returns the URL of a listening address as seen from this machine. */
const urlOf = (host: string, port: number): string => {
  const reached = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "[::1]" : isIP(host) === 6 ? `[${host}]` : host;
  return `http://${reached}:${port}`;
};

type Server = Awaited<ReturnType<typeof createServer>>;

const listenAt = (app: Server, host: string, port: number): Promise<Listening> =>
  listenOnLoopbacks(
    host,
    port,
    async (address, free) => {
      await app.listen({ host: address, port: free });
      return (app.server.address() as { port: number }).port;
    },
    (socket) => app.server.emit("connection", socket),
  );

/** Listens on the configured address. Port 0 means the port of the last start if it is free. */
const listenForApi = async (app: Server, settings: ServeSettings, remembered: number): Promise<number> => {
  const { host, port } = settings;
  const wanted = port === 0 ? remembered : port;
  let listening: Listening | undefined;
  // Closing waits for IPv4 and IPv6 connections.
  app.addHook("preClose", async () => listening?.close());
  try {
    listening = await listenAt(app, host, wanted);
  } catch (error) {
    if (port !== 0 || wanted === 0)
      throw new CommandError(describeListenError(error, { port: wanted, purpose: "API", setting: "--port" }));
    listening = await listenAt(app, host, 0);
  }
  return listening.port;
};

const listenForMetrics = async ({ metrics }: Platform, { metricsHost: host, metricsPort = 0 }: ServeSettings) => {
  if (metrics === undefined) return undefined;
  const app = createMetricsServer(metrics);
  const listening = await listenAt(app, host, metricsPort).catch((error: unknown) => {
    throw new CommandError(
      describeListenError(error, { port: metricsPort, purpose: "metrics", setting: "--metrics-port" }),
    );
  });
  const close = () => Promise.all([listening.close(), app.close()]);
  return { close, url: `${urlOf(host, listening.port)}/metrics` };
};

/** Throws with a readable message if the settings cannot be applied. */
export const startServing = async (settings: ServeSettings): Promise<Serving> => {
  await using stack = new AsyncDisposableStack();
  const platform = await buildPlatform(settings).catch(cannotStart);
  stack.defer(() => platform.close());
  const { controlPlane, loaded, log, metrics } = platform;
  const app = await createServer({ controlPlane, logger: log, ...(metrics && { onServed: metrics.apiServed }) });
  const remembered = loaded.remembered?.("api_port");
  const port = await listenForApi(app, settings, Number(remembered?.get() ?? 0));
  stack.defer(() => app.close());
  remembered?.set(String(port));
  const metricsServer = await listenForMetrics(platform, settings);
  // From here on, `stop` closes everything.
  stack.move();
  return {
    url: urlOf(settings.host, port),
    metrics: metricsServer?.url,
    ingress: loaded.ingressPort === undefined ? undefined : urlOf(settings.host, loaded.ingressPort),
    apiKey: await firstKey(platform),
    platform,
    stop: async () => {
      // Ends the streams of running deploys. The server would otherwise wait for them.
      await controlPlane.close();
      await app.close();
      await platform.close();
      await metricsServer?.close();
    },
  };
};

/** Resolves at the first Ctrl-C or SIGTERM. */
export const stopped = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
