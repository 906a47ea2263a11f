/**
 * The settings of `serve`. One schema produces the help, the messages and the docs page. Each setting has one name,
 * spelled as a flag (`--data-dir`), a variable (`PORTSIDE_DATA_DIR`) or a key of the config file (`dataDir`).
 */
import { readFileSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { z } from "zod";
import { awsConfigSchema } from "../../adapters/aws/config.ts";
import { gcpConfigSchema } from "../../adapters/gcp/config.ts";
import { localConfigSchema } from "../../adapters/local/config.ts";
import { spoolSetting } from "../../adapters/shared/archives/spool-place.ts";
import { accountLimits, deployLimits } from "../../core/domain/accounts/limits.ts";
import { envAliasesProblem } from "../../core/domain/deploy/environment.ts";
import { closest } from "../../core/domain/wire/closest.ts";
import { logLevels } from "./logger.ts";
import { prefixed } from "./providers/settings-names.ts";

const {
  dataDir: _dataDir,
  acceptState: _accept,
  instancesPerAccount: _perAccount,
  servicePorts: _ports,
  ...engine
} = localConfigSchema.shape;

const { dataDir: _ofGcp, sourceSpool: _spoolOfGcp, ...gcp } = gcpConfigSchema.shape;
const { dataDir: _ofAws, sourceSpool: _spoolOfAws, shared: _parts, ...aws } = awsConfigSchema.shape;

const count = (preset: number, description: string) => z.int().min(1).default(preset).describe(description);

export const serveShape = {
  dataDir: z
    .string()
    .min(1)
    .optional()
    .describe("The folder that holds everything (default: ~/.local/share/portside)."),
  port: z.int().min(0).max(65_535).default(8787).describe("The API's port; 0 for any, remembered."),
  provider: z.string().default("local").describe("Where services run: local, gcp, aws, memory, or a module's path."),
  sourceSpool: spoolSetting,
  ...engine,
  ...prefixed("gcp", gcp),
  ...prefixed("aws", aws),
  deployments: count(accountLimits.deployments, "Deployments an account."),
  instances: count(accountLimits.instances, "Instances an account, all its deployments together."),
  volumes: count(accountLimits.volumes, "Volumes an account."),
  buildsAtOnce: count(accountLimits.buildsAtOnce, "Builds of one account at once."),
  uploadsAtOnce: count(accountLimits.uploadsAtOnce, "Uploads of one account at once."),
  requestsPerMinute: count(accountLimits.requestsPerMinute, "API requests of one account a minute."),
  deploysQueued: count(deployLimits.queuedPerName, "Deploys of one name that may wait."),
  buildSeconds: z
    .number()
    .positive()
    .optional()
    .describe("How long a build may take (default: the provider's `deadlines` in /v1/capabilities)."),
  listenSeconds: z
    .number()
    .positive()
    .optional()
    .describe("How long a service may take to listen (default: likewise the provider's)."),
  envAliases: z
    .record(z.string(), z.string())
    .optional()
    .superRefine((aliases, ctx) => {
      const problem = envAliasesProblem(aliases ?? {});
      if (problem !== undefined) ctx.addIssue({ code: "custom", message: problem });
    })
    .describe(
      "Further names for PORT, CRON_TOKEN and PORTSIDE_VOLUMES in services: OTHER_TOKEN=CRON_TOKEN,...; in the file an object.",
    ),
  keysDatabase: z
    .url({ protocol: /^postgres(ql)?$/, error: "must be a URL such as postgres://user:password@host/database" })
    .optional()
    .describe(
      "A PostgreSQL database for keys, which replicas share (default: keys in the data folder); best given by its variable, which shows in no list of processes.",
    ),
  jwtIssuer: z.string().optional().describe("Accept bearer tokens of this OpenID Connect issuer."),
  jwtAudience: z.string().optional().describe("The audience that its tokens must have."),
  jwtJwks: z.string().optional().describe("Where its keys are, if not where its discovery document says."),
  jwtAccountClaim: z.string().default("sub").describe("The claim that names the account."),
  stripeKey: z
    .string()
    .min(1)
    .optional()
    .describe(
      "A Stripe key that may read customers and subscriptions; best given by its variable, which shows in no list of processes.",
    ),
  stripeUrl: z
    .url({ protocol: /^https?$/, error: "must be a URL such as http://127.0.0.1:12111" })
    .optional()
    .describe("Where Stripe's API is, for tests."),
  metricsPort: z
    .int()
    .min(0)
    .max(65_535)
    .optional()
    .describe("A port for `/metrics` (Prometheus), 0 for any; without it no figures are collected."),
  metricsHost: z
    .string()
    .min(1)
    .default("127.0.0.1")
    .describe("The address of that port; whoever reaches it reads it, without a credential."),
  logLevel: z.enum(logLevels).default("info").describe("How much is logged, to standard error."),
} as const;

const serveSchema = z.strictObject(serveShape);

type Parsed = z.output<typeof serveSchema>;
/** Validated settings with all defaults applied, as `resolveSettings` returns them. */
export type ServeSettings = Omit<Parsed, "dataDir"> & {
  readonly dataDir: string;
  /** Applies to a single start, so it is only a flag, not a variable or a key of the file. */
  readonly acceptState?: boolean;
  /** Sections of the config file, keyed by name. A provider module receives the section with its own name. */
  readonly sections: Readonly<Record<string, unknown>>;
};

/** Returns a setting's flag without the dashes: `data-dir` for `dataDir`. */
export const flagOf = (key: string): string => key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const PREFIX = "PORTSIDE_";
const endOf = (key: string): string => flagOf(key).replaceAll("-", "_").toUpperCase();
/** Returns a setting's environment variable: `PORTSIDE_DATA_DIR` for `dataDir`. */
export const variableOf = (key: string): string => PREFIX + endOf(key);

/** An unusable setting. The message names its source (flag, variable or file) and the accepted values. */
export class SettingsError extends Error {}

interface Given {
  readonly value: unknown;
  /** As the user wrote it: `--port`, `PORTSIDE_PORT`, `'port' in FILE`. */
  readonly from: string;
}

const typeOf = (schema: z.ZodType): string => String((z.toJSONSchema(schema) as { type?: unknown }).type);

/** Whether a setting may be repeated. In a single string, commas separate its values. */
export const isList = (key: keyof typeof serveShape): boolean => typeOf(serveShape[key]) === "array";

const toNumber = (text: string): unknown => (/^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text);

/** `A=B,C=D` */
const toRecord = (text: string): Readonly<Record<string, string>> =>
  Object.fromEntries(
    text.split(",").map((pair) => {
      const [key = "", ...value] = pair.split("=");
      return [key.trim(), value.join("=").trim()];
    }),
  );

const fromText = (key: keyof typeof serveShape, text: string): unknown => {
  if (typeOf(serveShape[key]) === "object") return toRecord(text);
  if (isList(key)) return text.split(",").map((one) => toNumber(one.trim()));
  return ["integer", "number"].includes(typeOf(serveShape[key])) ? toNumber(text) : text;
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

/** @param dataDir the folder of the default file; undefined if the user named the file, which must then exist */
const readFile = (path: string, dataDir: string | undefined): Record<string, unknown> => {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (dataDir !== undefined && (code === "ENOENT" || code === "ENOTDIR")) return {};
    if (dataDir !== undefined && code === "EACCES" && !mayEnter(dataDir))
      throw new SettingsError(
        `The data folder ${dataDir} cannot be entered: permission denied. Run Portside as the user that owns it, change its owner with chown, or choose another folder with --data-dir.`,
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
  throw new SettingsError(`The configuration file ${path} must hold a JSON object.`);
};

const keys = Object.keys(serveShape) as (keyof typeof serveShape)[];

const defaultDataDir = (env: NodeJS.ProcessEnv): string =>
  join(env["XDG_DATA_HOME"] || join(homedir(), ".local", "share"), "portside");

/** @throws SettingsError if a name is not a setting */
const refuseUnknown = (names: readonly string[], of: string): void => {
  for (const name of names) {
    if (keys.includes(name as keyof typeof serveShape)) continue;
    const near = closest(name, keys);
    throw new SettingsError(
      `${of} the unknown setting '${name}'${near === undefined ? "" : `; did you mean '${near}'?`}`,
    );
  }
};

/** Variables of the command line and of services. They are not settings, even if the name resembles one. */
const otherVariables = ["URL", "API_KEY", "INSTANCE"];

/** Returns a warning for each PORTSIDE_ variable that looks like a misspelt setting. Ignores names that resemble none. */
export const misspeltVariables = (env: NodeJS.ProcessEnv): string[] => {
  const known = keys.map(endOf);
  // Compares without the common prefix, which would make any two names look similar.
  const ends = Object.keys(env)
    .filter((name) => name.startsWith(PREFIX))
    .map((name) => name.slice(PREFIX.length))
    .filter((end) => !known.includes(end) && !otherVariables.includes(end));
  return ends.flatMap((end) => {
    const near = closest(end, known);
    return near === undefined ? [] : [`${PREFIX}${end} is not a setting; did you mean ${PREFIX}${near}?`];
  });
};

const sectionsOf = (file: Record<string, unknown>, path: string): Record<string, unknown> => {
  const sections: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(file)) {
    if (keys.includes(key as keyof typeof serveShape)) continue;
    if (typeof value === "object" && value !== null) sections[key] = value;
    else refuseUnknown([key], `${path} has`);
  }
  return sections;
};

interface ValueSchema {
  readonly minimum?: number;
  readonly maximum?: number;
  readonly exclusiveMinimum?: number;
  readonly enum?: readonly string[];
  readonly items?: ValueSchema;
}

/** Describes the accepted numbers or words; undefined for other settings, whose values may be secrets. */
const expectationOf = ({ minimum, maximum, exclusiveMinimum, enum: words }: ValueSchema): string | undefined => {
  if (words !== undefined) return `one of ${words.join(", ")}`;
  if (exclusiveMinimum !== undefined) return `a number greater than ${exclusiveMinimum}`;
  if (minimum === undefined) return undefined;
  return maximum === undefined || maximum === Number.MAX_SAFE_INTEGER
    ? `a number of at least ${minimum}`
    : `a number from ${minimum} to ${maximum}`;
};

/** `--port must be a number from 0 to 65535, not 'abc'.` */
const describeIssue = ({ path, message }: z.core.$ZodIssue, given: ReadonlyMap<string, Given>): string => {
  const key = String(path[0]) as keyof typeof serveShape;
  const { from, value } = given.get(key) ?? { from: path.join("."), value: undefined };
  const schema = z.toJSONSchema(serveShape[key]) as ValueSchema;
  const [expected, actual] =
    path.length > 1 && Array.isArray(value)
      ? [expectationOf(schema.items ?? {}), value[Number(path[1])] as unknown]
      : [expectationOf(schema), value];
  if (expected === undefined) return message.startsWith("must ") ? `${from} ${message}.` : `${from}: ${message}.`;
  return `${from} must be ${expected}, not ${typeof actual === "object" ? JSON.stringify(actual) : `'${actual}'`}.`;
};

/** Returns the path or the ancestor of it that is a file, if any. */
const fileIn = (path: string): string | undefined => {
  // Also undefined if an ancestor is a file.
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats !== undefined) return stats.isDirectory() ? undefined : path;
  return dirname(path) === path ? undefined : fileIn(dirname(path));
};

/** Explains why the path cannot be a data folder: it, or an ancestor, is a file. Otherwise returns undefined. */
export const dataDirProblem = (folder: string): string | undefined => {
  try {
    const file = fileIn(folder);
    if (file === undefined) return undefined;
    return file === folder
      ? `--data-dir ${folder} is a file, not a folder.`
      : `--data-dir ${folder} cannot be a folder: ${file} is a file.`;
  } catch {
    // The path cannot be inspected, for example without permission. Opening the folder reports why.
    return undefined;
  }
};

/**
 * Resolves every setting. Precedence: flag, environment variable, config file, default.
 * @param flags unparsed values by setting key, for example `{ port: "8080" }`
 * @param env variables by name; an empty variable counts as unset
 * @param configFile defaults to `portside.config.json` in the data folder, which may be absent
 * @throws SettingsError if a setting is unknown or invalid, or the file cannot be read
 */
export const resolveSettings = (
  flags: Readonly<Record<string, string | undefined>>,
  env: NodeJS.ProcessEnv,
  configFile?: string,
): ServeSettings => {
  refuseUnknown(Object.keys(flags), "There is");
  const folder = flags["dataDir"] ?? (env[variableOf("dataDir")] || defaultDataDir(env));
  const path = configFile ?? join(folder, "portside.config.json");
  const file = readFile(path, configFile === undefined ? folder : undefined);
  const sections = sectionsOf(file, path);
  const given = new Map<string, Given>();
  for (const key of keys) {
    const [flag, variable] = [flags[key], env[variableOf(key)]];
    if (flag !== undefined) given.set(key, { value: fromText(key, flag), from: `--${flagOf(key)}` });
    else if (variable !== undefined && variable !== "")
      given.set(key, { value: fromText(key, variable), from: variableOf(key) });
    else if (Object.hasOwn(file, key)) given.set(key, { value: file[key], from: `'${key}' in ${path}` });
  }
  const parsed = serveSchema.safeParse(Object.fromEntries([...given].map(([key, { value }]) => [key, value])));
  if (!parsed.success) {
    throw new SettingsError(parsed.error.issues.map((one) => describeIssue(one, given)).join("\n"));
  }
  if ((parsed.data.jwtIssuer === undefined) !== (parsed.data.jwtAudience === undefined))
    throw new SettingsError("--jwt-issuer and --jwt-audience belong together; give both or neither.");
  return { ...parsed.data, dataDir: parsed.data.dataDir ?? folder, sections };
};
