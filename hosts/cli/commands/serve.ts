/** `portside serve` */
import { isIP } from "node:net";
import { flagOf, resolveSettings, type ServeSettings, SettingsError, serveShape } from "../../composition/settings.ts";
import { type Command, type Input, jsonOption, type Option } from "../command.ts";
import { CommandError, type Io, paint, print, printJson, say, UsageError } from "../io.ts";

const settingKeys = Object.keys(serveShape) as (keyof typeof serveShape)[];

const optionFor = (key: keyof typeof serveShape): Option => ({
  type: "string",
  value: key.endsWith("Dir") ? "DIR" : key.toLowerCase().endsWith("port") ? "PORT" : "VALUE",
  description: serveShape[key].description ?? "",
});

const options: Readonly<Record<string, Option>> = {
  ...jsonOption,
  config: { type: "string", value: "FILE", description: "Settings as JSON (default: DATA_DIR/portside.config.json)." },
  ...Object.fromEntries(settingKeys.map((key) => [flagOf(key), optionFor(key)])),
};

/** The settings that a command's flags, variables and file make; throws in words where they do not go together. */
export const settingsFrom = (input: Input, io: Io, preset: Readonly<Record<string, string>> = {}): ServeSettings => {
  const flags = Object.fromEntries(settingKeys.map((key) => [key, input.text(flagOf(key)) ?? preset[key]]));
  try {
    return resolveSettings(flags, io.env, input.text("config"));
  } catch (error) {
    if (error instanceof SettingsError) throw new UsageError(error.message);
    throw error;
  }
};

const isLoopback = (host: string): boolean => host === "localhost" || host === "::1" || /^127\./.test(host);

interface Served {
  readonly url: string;
  readonly ingress: string | undefined;
  readonly runner: string;
  readonly isolation: string;
  readonly apiKey: string | undefined;
}

const urlOf = (host: string, port: number): string => {
  const reached = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "[::1]" : isIP(host) === 6 ? `[${host}]` : host;
  return `http://${reached}:${port}`;
};

const announce = (io: Io, json: boolean, served: Served): void => {
  const { url, ingress, apiKey } = served;
  if (json) {
    printJson(io, {
      event: "ready",
      url,
      ...(ingress === undefined ? {} : { ingress }),
      ...(apiKey === undefined ? {} : { api_key: apiKey }),
    });
    return;
  }
  print(io, `${paint(io.stdout, "green", "Portside is ready.")}`);
  print(io, `  API       ${url}  (documentation at ${url}/docs)`);
  if (ingress !== undefined)
    print(io, `  Services  a port each, and ${ingress.replace("127.0.0.1", "NAME.localhost")}`);
  print(io, `  Running   ${served.runner}`);
  if (apiKey !== undefined) {
    print(io, `  API key   ${apiKey}  (account 'default', shown this once)`);
    print(io);
    print(io, `Next: export PORTSIDE_API_KEY=${apiKey}; portside init hello; portside deploy hello`);
  }
  if (served.isolation === "none")
    say(
      io,
      `${paint(io.stderr, "yellow", "warning:")} services are not isolated from each other or from this user's files. Install bubblewrap, or run only what you trust.`,
    );
};

/** Where the API listened before, for when any port will do. */
const listenPort = (settings: ServeSettings, remembered: { get(): string | undefined } | undefined): number =>
  settings.port === 0 ? Number(remembered?.get() ?? 0) : settings.port;

const aborted = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });

const run = async (input: Input, io: Io): Promise<number> => {
  const settings = settingsFrom(input, io);
  const { buildPlatform } = await import("../../composition/container.ts");
  const { createServer } = await import("../../http/server.ts");
  const platform = await buildPlatform(settings).catch((error: unknown) => {
    throw new CommandError(error instanceof Error ? error.message : String(error));
  });
  const { controlPlane, parts, log } = platform;
  if (!isLoopback(settings.host))
    log.warn(
      { host: settings.host },
      "the platform listens beyond this machine, without TLS: put a proxy with TLS in front",
    );
  const app = await createServer({ controlPlane, logger: log });
  const remembered = parts.remembered?.("api_port");
  const listen = (port: number) => app.listen({ host: settings.host, port });
  try {
    await listen(listenPort(settings, remembered)).catch((error: NodeJS.ErrnoException) => {
      if (settings.port === 0 && error.code === "EADDRINUSE") return listen(0);
      throw error;
    });
  } catch (error) {
    await platform.close();
    throw new CommandError(
      `The API cannot listen on ${settings.host}:${settings.port}: ${(error as Error).message}. Choose another with --port.`,
    );
  }
  const { port } = app.server.address() as { port: number };
  remembered?.set(String(port));
  const { firstKey } = await import("../../composition/first-key.ts");
  const { runner, isolation } = controlPlane.capabilities();
  announce(io, input.flag("json"), {
    url: urlOf(settings.host, port),
    ingress: parts.ingressPort === undefined ? undefined : urlOf(settings.host, parts.ingressPort),
    runner,
    isolation,
    apiKey: await firstKey(platform),
  });
  await aborted(io.signal);
  log.info("stopping");
  // Ends the streams of running deploys, which the server would else wait for.
  await controlPlane.close();
  await app.close();
  await platform.close();
  return 0;
};

export const serve: Command = {
  usage: "serve [options]",
  options,
  positionals: { min: 0, max: 0 },
  notes: [
    "Every option is also a variable (--data-dir: PORTSIDE_DATA_DIR) and a key of the file (dataDir).",
    "A flag goes before a variable, a variable before the file.",
  ],
  run,
};
