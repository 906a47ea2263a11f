/**
 * The settings of `portside serve`. The help, the error messages and `docs/reference/configuration.md` share one
 * schema. Each setting is a flag (`--data-dir`), an environment variable (`PORTSIDE_DATA_DIR`) and a key of the
 * configuration file (`dataDir`).
 */
import { readFileSync, statSync } from "node:fs";
import { isIP } from "node:net";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { z } from "zod";
import { spoolSetting } from "../../adapters/shared/archives/spool-location.ts";
import { accountLimits, deployLimits } from "../../core/domain/accounts/limits.ts";
import { isSafeOrigin } from "../../core/domain/accounts/safe-origin.ts";
import { envAliasesProblem } from "../../core/domain/deploy/environment.ts";
import { closest } from "../../core/domain/wire/closest.ts";
import { logLevels } from "./logger.ts";
import { providerNames, providerSettings } from "./providers/index.ts";

export { missingApiName, tlsPortProblem } from "../../adapters/local/domains/settings.ts";

const text = z.string().min(1);
const port = z.int().min(0).max(65_535);
const url = (protocol: RegExp, example: string) => z.url({ protocol, error: `must be a URL such as ${example}` });
const seconds = z.number().positive().optional();
const count = (initial: number, description: string) => z.int().min(1).default(initial).describe(description);

/** Networks that Fastify's `trustProxy` knows by name: https://fastify.dev/docs/latest/Reference/Server/#trustproxy */
const namedNetworks = ["loopback", "linklocal", "uniquelocal"];

/** Returns whether the text is a network of proxies, such as `127.0.0.1`, `10.0.0.0/8` or `loopback`. */
const isProxyNetwork = (text: string): boolean => {
  const [address = "", bits, ...rest] = text.split("/");
  const version = isIP(address);
  if (version === 0) return namedNetworks.includes(text);
  if (bits === undefined) return true;
  return rest.length === 0 && /^[1-9]\d{0,2}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128);
};

export const serveShape = {
  dataDir: text.optional().describe("Folder for all data of the platform (default: ~/.local/share/portside)"),
  port: port.default(8787).describe("Port of the API; 0 picks a free port and reuses it at the next start"),
  provider: z
    .string()
    .default("local")
    .describe(`Where services run: ${providerNames.join(", ")}, or a module's path`),
  sourceSpool: spoolSetting.describe(
    "Where gcp and aws store sources before the build; `auto` selects the bucket if the data folder is in memory",
  ),
  engine: z
    .enum(["process", "inline"])
    .default("process")
    .describe(
      "Where the local provider runs the API: `process` uses a separate process, so services stay reachable while the API restarts; `inline` uses the process that routes requests to services",
    ),
  ...providerSettings,
  deployments: count(accountLimits.deployments, "Maximum deployments per account"),
  instances: count(
    accountLimits.instances,
    "Maximum `max_instances` of a deployment. With the local provider, also the maximum number of running instances per account",
  ),
  volumes: count(accountLimits.volumes, "Maximum volumes per account"),
  customDomains: count(accountLimits.domains, "Maximum custom domains per account"),
  buildsAtOnce: count(accountLimits.buildsAtOnce, "Maximum concurrent builds per account"),
  uploadsAtOnce: count(accountLimits.uploadsAtOnce, "Maximum concurrent uploads per account"),
  requestsPerMinute: count(accountLimits.requestsPerMinute, "Maximum API requests per minute for each account"),
  deploysQueued: count(deployLimits.queuedPerName, "Maximum queued deploys per deployment"),
  buildSeconds: seconds.describe("Build timeout (default: the provider's `deadlines` in /v1/capabilities)"),
  listenSeconds: seconds.describe(
    "How long a new instance may take to start listening (default: the provider's `deadlines`)",
  ),
  envAliases: z
    .record(z.string(), z.string())
    .optional()
    .superRefine((aliases, ctx) => {
      const problem = envAliasesProblem(aliases ?? {});
      if (problem !== undefined) ctx.addIssue({ code: "custom", message: problem });
    })
    .describe(
      "Additional names for PORT, CRON_TOKEN and PORTSIDE_VOLUMES in services, as comma-separated pairs such as OTHER_TOKEN=CRON_TOKEN. In the configuration file, the value is an object",
    ),
  keysDatabase: url(/^postgres(ql)?$/, "postgres://user:password@host/database")
    .optional()
    .describe(
      "URL of a PostgreSQL database for API keys and console sessions, which replicas then share (default: the data folder stores them). Use the environment variable instead of this flag, because process lists show flags",
    ),
  jwtIssuer: z.string().optional().describe("Accept bearer tokens from this OpenID Connect issuer"),
  jwtAudience: z.string().optional().describe("Audience that the issuer's tokens must have"),
  jwtJwks: z.string().optional().describe("URL of the issuer's keys (default: from its discovery document)"),
  jwtAccountClaim: z.string().default("sub").describe("Claim that contains the account"),
  stripeKey: text
    .optional()
    .describe(
      "Stripe key with read access to customers, subscriptions and products. Use the environment variable instead of this flag, because process lists show flags",
    ),
  stripeUrl: url(/^https?$/, "http://127.0.0.1:12111")
    .optional()
    .describe("URL of Stripe's API, for tests"),
  consoleOrigin: url(/^https?$/, "https://api.example.com")
    .refine((text) => !URL.canParse(text) || new URL(text).origin === text, {
      error: "must be an origin without a path, such as https://api.example.com",
    })
    .refine((text) => !URL.canParse(text) || isSafeOrigin(text), {
      error:
        "must be an HTTPS origin, because sign-in needs HTTPS. Plain HTTP is possible only on the loopback interface, such as http://localhost:8080",
    })
    .optional()
    .describe(
      "Origin at which browsers reach the console, if a proxy in front of the API terminates TLS (default: the origin of the request)",
    ),
  trustProxy: z
    .array(
      text.refine(isProxyNetwork, {
        error: `must be an IP address, a network such as 10.0.0.0/8, or one of ${namedNetworks.join(", ")}`,
      }),
    )
    .default([])
    .describe(
      "Address or network of a proxy in front of the API, such as 10.0.0.0/8 or loopback. Portside takes the address of the client, the scheme and the host from the X-Forwarded headers of this proxy, and ignores these headers from other clients",
    ),
  metricsPort: port
    .optional()
    .describe("Port of `/metrics` for Prometheus; 0 picks a free port. If unset, Portside collects no metrics"),
  metricsHost: text
    .default("127.0.0.1")
    .describe("Address to listen on for metrics. Clients need no credential to read them"),
  logLevel: z.enum(logLevels).default("info").describe("Minimum level of log lines on standard error"),
} as const;

const serveSchema = z.strictObject(serveShape);

export type SettingKey = keyof typeof serveShape;
export const settingKeys = Object.keys(serveShape) as SettingKey[];

type Parsed = z.output<typeof serveSchema>;
/** Validated settings with all defaults applied. */
export type ServeSettings = Omit<Parsed, "dataDir"> & {
  readonly dataDir: string;
  /** Set only by the flag, because it must apply to a single start. */
  readonly acceptState?: boolean;
  /** Serves the console. Defaults to true. */
  readonly console?: boolean;
  /** Sections of the configuration file by name. A provider module receives the section named after its path. */
  readonly sections: Readonly<Record<string, unknown>>;
};

/** Returns a setting's flag without the dashes: `data-dir` for `dataDir`. */
export const flagOf = (key: string): string => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const PREFIX = "PORTSIDE_";
const endOf = (key: string): string => flagOf(key).replaceAll("-", "_").toUpperCase();
/** Returns a setting's environment variable: `PORTSIDE_DATA_DIR` for `dataDir`. */
export const variableOf = (key: string): string => PREFIX + endOf(key);

/** Thrown for an invalid setting. The message names the setting's source: flag, variable or file. */
export class SettingsError extends Error {}

interface Given {
  readonly value: unknown;
  /** Its source: `--port`, `PORTSIDE_PORT`, `'port' in FILE`. */
  readonly from: string;
}

type JsonSchema = z.core.JSONSchema.BaseSchema;

const schemaOf = (key: SettingKey): JsonSchema => z.toJSONSchema(serveShape[key]);

/** Returns the valid values of a setting, if it is an enumeration. */
export const choicesOf = (key: SettingKey): readonly string[] | undefined => schemaOf(key).enum?.map(String);

/** Returns true if the flag may be repeated. In a single string, commas separate the values. */
export const isList = (key: SettingKey): boolean => schemaOf(key).type === "array";

const toNumber = (text: string): unknown => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text);

/** Parses `A=B,C=D`. */
const toRecord = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    text.split(",").map((pair) => {
      const [key = "", ...value] = pair.split("=");
      return [key.trim(), value.join("=").trim()];
    }),
  );

const fromText = (key: SettingKey, text: string): unknown => {
  const { type } = schemaOf(key);
  if (type === "object") return toRecord(text);
  if (type === "array") return text.split(",").map((one) => toNumber(one.trim()));
  return type === "integer" || type === "number" ? toNumber(text) : text;
};

const mayEnter = (folder: string): boolean => {
  try {
    // stat(2) checks the effective user; access(2) checks the real one.
    statSync(`${folder}/.`);
    return true;
  } catch {
    return false;
  }
};

/** @param dataDir the data folder if `path` is the default file, which may be missing; otherwise undefined */
const readFile = (path: string, dataDir: string | undefined): Record<string, unknown> => {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (dataDir !== undefined && (code === "ENOENT" || code === "ENOTDIR")) return {};
    if (dataDir !== undefined && code === "EACCES" && !mayEnter(dataDir))
      throw new SettingsError(
        `The data folder ${dataDir} cannot be opened: permission denied. Run Portside as the user that owns it, change its owner with chown, or choose another folder with --data-dir.`,
      );
    throw new SettingsError(
      `The configuration file ${path} cannot be read: ${(error as Error).message}. Make it readable for this user, or choose another with --config or --data-dir.`,
    );
  }
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  } catch (error) {
    throw new SettingsError(`The configuration file ${path} is not valid JSON: ${(error as Error).message}`);
  }
  throw new SettingsError(`The configuration file ${path} must contain a JSON object.`);
};

const defaultDataDir = (env: NodeJS.ProcessEnv): string =>
  join(env["XDG_DATA_HOME"] || join(homedir(), ".local", "share"), "portside");

const isSetting = (name: string): boolean => Object.hasOwn(serveShape, name);

const unknownSetting = (name: string, where = ""): SettingsError => {
  const near = closest(name, settingKeys);
  return new SettingsError(`Unknown setting '${name}'${where}.${near === undefined ? "" : ` Did you mean '${near}'?`}`);
};

/** Variables of the command line and of services, which are not settings. */
const otherVariables = ["URL", "API_KEY", "INSTANCE"];

/** Returns a warning for each PORTSIDE_ variable that looks like a misspelt setting. */
export const misspeltVariables = (env: NodeJS.ProcessEnv): string[] => {
  const known = settingKeys.map(endOf);
  // The common prefix would make any two names look similar.
  const ends = Object.keys(env)
    .filter((name) => name.startsWith(PREFIX))
    .map((name) => name.slice(PREFIX.length))
    .filter((end) => !known.includes(end) && !otherVariables.includes(end));
  return ends.flatMap((end) => {
    const near = closest(end, known);
    return near === undefined ? [] : [`${PREFIX}${end} is not a setting. Did you mean ${PREFIX}${near}?`];
  });
};

const sectionsOf = (file: Record<string, unknown>, path: string): Record<string, unknown> => {
  const sections: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(file)) {
    if (isSetting(key)) continue;
    if (typeof value !== "object" || value === null) throw unknownSetting(key, ` in ${path}`);
    sections[key] = value;
  }
  return sections;
};

/** Describes the accepted numbers or words. Returns undefined for other settings, whose values may be secrets. */
const expectationOf = ({ minimum, maximum, exclusiveMinimum, enum: words }: JsonSchema): string | undefined => {
  if (words !== undefined) return `one of ${words.join(", ")}`;
  if (exclusiveMinimum !== undefined) return `a number greater than ${exclusiveMinimum}`;
  if (minimum === undefined) return undefined;
  return maximum === undefined || maximum === Number.MAX_SAFE_INTEGER
    ? `a number of at least ${minimum}`
    : `a number from ${minimum} to ${maximum}`;
};

/** `--port must be a number from 0 to 65535, not 'abc'.` */
const describeIssue = ({ path, message }: z.core.$ZodIssue, given: ReadonlyMap<string, Given>): string => {
  const key = String(path[0]) as SettingKey;
  const { from, value } = given.get(key) ?? { from: path.join("."), value: undefined };
  const schema = schemaOf(key);
  const [expected, actual] =
    path.length > 1 && Array.isArray(value)
      ? [expectationOf((schema.items ?? {}) as JsonSchema), value[Number(path[1])] as unknown]
      : [expectationOf(schema), value];
  if (expected === undefined) return message.startsWith("must ") ? `${from} ${message}.` : `${from}: ${message}.`;
  return `${from} must be ${expected}, not ${typeof actual === "object" ? JSON.stringify(actual) : `'${actual}'`}.`;
};

/**
 * Looks at the path or, if it does not exist, at its nearest existing ancestor. Returns the
 * existing path if it is a file, and undefined if it is a directory.
 */
const fileIn = (path: string): string | undefined => {
  // Undefined if the path does not exist or an ancestor is a file.
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats !== undefined) return stats.isDirectory() ? undefined : path;
  return dirname(path) === path ? undefined : fileIn(dirname(path));
};

/** Returns why the path cannot be a data folder: the path or an ancestor is a file. Otherwise returns undefined. */
export const dataDirProblem = (folder: string): string | undefined => {
  try {
    const file = fileIn(folder);
    if (file === undefined) return undefined;
    return file === folder
      ? `The data folder ${folder} is a file. Choose a folder with --data-dir.`
      : `The data folder ${folder} cannot be created, because ${file} is a file. Choose another folder with --data-dir.`;
  } catch {
    // The path cannot be inspected. Opening the folder later reports the cause.
    return undefined;
  }
};

/**
 * Resolves every setting. Precedence: flag, environment variable, config file, default.
 * @param flags unparsed values by setting key, for example `{ port: "8080" }`
 * @param env variables by name; an empty variable counts as unset
 * @param configFile defaults to `portside.config.json` in the data folder; only the default file may be missing
 * @throws SettingsError if a setting is unknown or invalid, or the file cannot be read
 */
export const resolveSettings = (
  flags: Readonly<Record<string, string | undefined>>,
  env: NodeJS.ProcessEnv,
  configFile?: string,
): ServeSettings => {
  const unknown = Object.keys(flags).find((name) => !isSetting(name));
  if (unknown !== undefined) throw unknownSetting(unknown);
  const folder = flags["dataDir"] ?? (env[variableOf("dataDir")] || defaultDataDir(env));
  const path = configFile ?? join(folder, "portside.config.json");
  const file = readFile(path, configFile === undefined ? folder : undefined);
  const sections = sectionsOf(file, path);
  const given = new Map<string, Given>();
  for (const key of settingKeys) {
    const [flag, variable] = [flags[key], env[variableOf(key)]];
    if (flag !== undefined) given.set(key, { value: fromText(key, flag), from: `--${flagOf(key)}` });
    else if (variable !== undefined && variable !== "")
      given.set(key, { value: fromText(key, variable), from: variableOf(key) });
    else if (Object.hasOwn(file, key)) given.set(key, { value: file[key], from: `'${key}' in ${path}` });
  }
  const parsed = serveSchema.safeParse(Object.fromEntries([...given].map(([key, { value }]) => [key, value])));
  if (!parsed.success) throw new SettingsError(parsed.error.issues.map((one) => describeIssue(one, given)).join("\n"));
  if ((parsed.data.jwtIssuer === undefined) !== (parsed.data.jwtAudience === undefined))
    throw new SettingsError("--jwt-issuer and --jwt-audience require each other. Set both or neither.");
  return { ...parsed.data, dataDir: parsed.data.dataDir ?? folder, sections };
};
