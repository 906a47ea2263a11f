/** `portside serve` */

import { dataDirProblem, missingApiName, type ServeSettings, tlsPortProblem } from "../../composition/settings.ts";
import { flag } from "../arguments.ts";
import { type Command, type Input, jsonOption } from "../command.ts";
import { settingOptions, settingsFrom } from "../settings.ts";
import { paint, warn } from "../terminal/colour.ts";
import { CommandError, type Io, print, printJson, UsageError } from "../terminal/io.ts";
import { Lifeline, SUPERVISED } from "./lifeline.ts";
import type { Serving } from "./serving.ts";
import { reportReady } from "./systemd.ts";
import { SUCCESSOR } from "./upgrade/messages.ts";

const isLoopback = (host: string): boolean => host === "localhost" || host === "::1" || /^127\./.test(host);

const announce = (
  io: Io,
  json: boolean,
  { console = true }: ServeSettings,
  { url, ingress, https, httpsApi, metrics, apiKey, capabilities }: Serving,
): void => {
  if (json)
    return printJson(io, { event: "ready", url, ingress, https, https_api: httpsApi, metrics, api_key: apiKey });
  print(io, paint(io, "green", "Portside is ready."));
  const api = httpsApi ?? url;
  print(io, `  API       ${api}  (documentation at ${api}/docs)`);
  if (httpsApi !== undefined) print(io, `  Local API ${url}  (without TLS)`);
  if (console) print(io, `  Console   ${api}/console/  (sign in with the API key, or run 'portside console')`);
  if (ingress !== undefined)
    print(io, `  Services  one port each, and ${ingress.replace("127.0.0.1", "NAME.localhost")}`);
  if (https !== undefined) print(io, `  HTTPS     ${https}`);
  if (metrics !== undefined) print(io, `  Metrics   ${metrics}`);
  print(io, `  Runner    ${capabilities.runner}`);
  if (apiKey === undefined) return;
  print(io, `  API key   ${apiKey}  (account 'default', not shown again)`);
  print(io, `\nNext: export PORTSIDE_API_KEY=${apiKey}; portside init hello; portside deploy hello`);
};

/**
 * Starts the platform. With the local provider and `--engine process`, the server runs in a child process. In a bundle,
 * which lacks the child's script, it runs in this process.
 */
const start = async (settings: ServeSettings, isSupervised: boolean): Promise<Serving> => {
  if (settings.provider === "local" && settings.engine === "process") {
    const { serverScript } = await import("./supervised-server.ts");
    if (serverScript !== null)
      return (await import("./serve-engine.ts")).startEngineAndServer(settings, serverScript, isSupervised);
  }
  return (await import("./serving.ts")).startServing(settings);
};

/** Resolves when the signal aborts, for example at the first Ctrl-C. */
export const waitForStop = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

/** Takes over from the parent process, which an upgrade replaces with this process. */
const takeOver = async (
  settings: ServeSettings,
  stopped: AbortSignal,
  isSupervised: boolean,
): Promise<Pick<Serving, "replaced" | "stop">> => {
  const { serverScript } = await import("./supervised-server.ts");
  if (settings.provider !== "local" || settings.engine !== "process" || serverScript === null)
    throw new CommandError("An upgrade requires the provider 'local' and the setting --engine process.");
  return (await import("./serve-engine.ts")).takeOverEngineAndServer(settings, serverScript, stopped, isSupervised);
};

const reportTo = (
  lifeline: Lifeline | undefined,
  { logLevel }: ServeSettings,
  { replaced }: Pick<Serving, "replaced">,
): void => lifeline?.report({ kind: "ready", pid: process.pid, logLevel, canUpgrade: replaced !== undefined });

/** Yields warnings about risks of the settings. The command prints them after the start. */
export function* startWarnings(
  settings: Pick<ServeSettings, "host" | "port" | "domain" | "tlsPort" | "tlsHost" | "tlsCert" | "acmeEmail">,
  { https, httpsApi, capabilities }: Pick<Serving, "https" | "httpsApi" | "capabilities">,
): Generator<string> {
  const { host, port, domain, tlsPort, tlsHost = host, tlsCert, acmeEmail } = settings;
  const { isolation, runs, domains } = capabilities;
  if (!isLoopback(host))
    yield https === undefined
      ? `The platform listens on ${host} without TLS. Set --tls-port, or put a proxy with TLS in front of it.`
      : httpsApi === undefined
        ? `The API listens on ${host}:${port} without TLS. Put a proxy with TLS in front of it.`
        : `The API also listens on ${host}:${port} without TLS. Open only --tls-port and --http-port in the firewall.`;
  const missing = missingApiName({ tlsCert, domain }, httpsApi !== undefined);
  if (missing !== undefined)
    yield `The TLS port does not serve the API and the console: --tls-cert does not contain ${missing}. Add the name to the certificate, and restart the server.`;
  const problem = tlsPortProblem(settings);
  if (problem !== undefined) yield `Handshakes fail: ${problem}.`;
  if (tlsPort !== undefined && acmeEmail !== undefined && isLoopback(tlsHost))
    yield `The TLS port listens only on ${tlsHost}, which a certificate authority cannot reach. Set --tls-host 0.0.0.0, unless another program forwards the connections.`;
  if (acmeEmail !== undefined && !domains.supported) yield `The server orders no certificates: ${domains.reason}.`;
  if (runs.supported && isolation === "none")
    yield "Services are not isolated from each other or from this user's files. Install bubblewrap, or run only code you trust.";
}

/** Starts the platform and prints how to reach it. */
const startNew = async (settings: ServeSettings, input: Input, io: Io, lifeline?: Lifeline): Promise<Serving> => {
  const serving = await start(settings, lifeline !== undefined);
  // Notify the supervisor before printing.
  reportTo(lifeline, settings, serving);
  announce(io, input.flag("json"), settings, serving);
  for (const message of startWarnings(settings, serving)) warn(io, message);
  return serving;
};

const run = async (input: Input, io: Io): Promise<number> => {
  const settings = {
    ...settingsFrom(input, io),
    acceptState: input.flag("accept-state"),
    console: !input.flag("no-console"),
  };
  const problem = dataDirProblem(settings.dataDir);
  if (problem !== undefined) throw new UsageError(problem);
  const isSuccessor = process.env[SUCCESSOR] !== undefined && process.connected;
  const lifeline = process.env[SUPERVISED] === undefined ? undefined : new Lifeline();
  for (const name of [SUCCESSOR, SUPERVISED]) delete process.env[name];
  const signal = lifeline === undefined ? io.signal : AbortSignal.any([io.signal, lifeline.ended]);
  const serving = isSuccessor
    ? await takeOver(settings, signal, lifeline !== undefined)
    : await startNew(settings, input, io, lifeline);
  if (isSuccessor) reportTo(lifeline, settings, serving);
  else await reportReady((message) => warn(io, message));
  // After an upgrade, leave the lifeline, so that the supervisor waits only for the new process.
  const replaced = serving.replaced?.then(() => lifeline?.leave());
  await Promise.race([waitForStop(signal), ...(replaced === undefined ? [] : [replaced])]);
  await serving.stop();
  lifeline?.report({ kind: "stopped" });
  return 0;
};

export const command: Command = {
  usage: "serve [options]",
  options: {
    ...jsonOption,
    supervise: flag("Restart the platform if it ends unexpectedly, for machines without systemd"),
    "no-console": flag("Do not serve the console or its sign-in"),
    "accept-state": flag("Start even if the state is missing, empty, outdated or changed by another program"),
    ...settingOptions,
  },
  examples: [
    "serve",
    "serve --data-dir data --ingress-port 80 --domain apps.example.com",
    "serve --tls-host 0.0.0.0 --domain apps.example.com --tls-port 443 --http-port 80 --acme-email ops@example.com",
    "serve --supervise",
  ],
  notes: [
    "Each setting also has a variable (PORTSIDE_DATA_DIR for --data-dir) and a key in the configuration file (dataDir).",
    "Flags take precedence over variables, and variables over the file.",
  ],
  run,
};
