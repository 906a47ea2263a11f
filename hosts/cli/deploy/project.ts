/** The declaration to deploy: `portside.json` of a folder, overridden by the command's flags. */
import { readFileSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import type { DeployFields } from "../../../core/control-plane.ts";
import { idleModes } from "../../../core/domain/deploy/idle.ts";
import { readProject } from "../../../core/domain/deploy/project-file.ts";
import { PROJECT_FILE } from "../../../core/domain/deploy/source/packing.ts";
import type { Issue } from "../../../core/domain/wire/issue.ts";
import { deploymentNameFrom } from "../../../core/domain/wire/names.ts";
import { parseStrictJson } from "../../../core/domain/wire/strict-json.ts";
import { formatFileError } from "../../composition/file-error.ts";
import { type Options, option } from "../arguments.ts";
import type { Input } from "../command.ts";
import { CommandError, type Io, UsageError } from "../terminal/io.ts";

export interface Deployable {
  readonly name: string;
  /** The folder to pack. */
  readonly folder: string;
  /** The deploy's fields by their API names, without the deployment's name. */
  readonly fields: Readonly<Record<string, unknown>>;
  /** False if the folder has no `portside.json`. */
  readonly declared: boolean;
}

/** The options of commands that deploy a folder. */
export const envOptions: Options = {
  env: option("K=V", "Set an environment variable (repeatable)", { short: "e", multiple: true }),
  "env-file": option("FILE", "Read environment variables from a file, one NAME=VALUE per line"),
};

export const secretOption = option("VAR=NAME", "Set a variable from a secret; NAME:N selects version N (repeatable)", {
  multiple: true,
});

export const messageOption = option("TEXT", "Describe the change, for the list of releases", { short: "m" });

export const projectArguments = (input: Input, io: Io) => {
  const envFile = input.text("env-file");
  return {
    folder: resolve(io.cwd, input.positionals[0] ?? "."),
    name: input.text("name"),
    /** Each is `K=V`. */
    env: input.texts("env"),
    /** Each is `VAR=NAME` or `VAR=NAME:VERSION`. */
    secrets: input.texts("secret"),
    envFile: envFile === undefined ? undefined : resolve(io.cwd, envFile),
    health: input.text("health"),
    idle: input.text("idle"),
    message: input.text("message"),
  };
};

const issueLines = (issues: readonly Issue[]): string =>
  issues.map(({ path, message }) => `  ${path.length === 0 ? "" : `${path.join(".")}: `}${message}`).join("\n");

const readProjectText = (path: string): string | undefined => {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new CommandError(formatFileError(path, error as NodeJS.ErrnoException));
  }
};

/** Returns why a path cannot be deployed, or undefined if it can. */
const folderProblem = (path: string): string | undefined => {
  try {
    return statSync(path).isDirectory() ? undefined : `'${path}' is a file, not a folder. Pass a folder.`;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    return code === "ENOENT"
      ? `The folder '${path}' does not exist.`
      : formatFileError(path, error as NodeJS.ErrnoException);
  }
};

const readProjectFile = (folder: string) => {
  const path = join(folder, PROJECT_FILE);
  const text = readProjectText(path);
  if (text === undefined) return undefined;
  const json = parseStrictJson(text);
  if (!json.ok) throw new CommandError(`${path} ${json.message}`);
  const { project, issues } = readProject(json.value);
  if (project === undefined) throw new CommandError(`${path} is invalid:\n${issueLines(issues)}`);
  return project;
};

/** Splits `NAME=VALUE`. */
export const readVariable = (line: string, from: string): [string, string] => {
  const equals = line.indexOf("=");
  if (equals < 1) throw new UsageError(`${from}: '${line}' does not have the form NAME=VALUE.`);
  return [line.slice(0, equals).trim(), line.slice(equals + 1)];
};

/** Reads `VAR=NAME` or `VAR=NAME:VERSION`. */
const secretVariable = (line: string): [string, object] => {
  const [name, reference] = readVariable(line, "--secret");
  const [secret = "", version] = reference.split(":");
  if (version === undefined) return [name, { secret }];
  if (!/^\d{1,15}$/.test(version))
    throw new UsageError(`--secret: '${line}' does not have the form VAR=NAME or VAR=NAME:VERSION.`);
  return [name, { secret, version: Number(version) }];
};

const unquoted = (value: string): string => /^(["'])([\s\S]*)\1$/.exec(value.trim())?.[2] ?? value.trim();

const readEnvText = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    throw new UsageError(`--env-file: ${formatFileError(path, error as NodeJS.ErrnoException)}`);
  }
};

const readEnvFile = (path: string): [string, string][] => {
  const lines = readEnvText(path)
    .split(/\r?\n/)
    .filter((line) => line.trim() !== "" && !line.trim().startsWith("#"));
  return lines.map((line) => {
    const [name, value] = readVariable(line.replace(/^\s*export\s+/, ""), path);
    return [name, unquoted(value)];
  });
};

const nameFromFolder = (folder: string): string => {
  const name = deploymentNameFrom(basename(folder));
  if (name === undefined)
    throw new UsageError(`'${basename(folder)}' is not a valid deployment name. Set one with --name.`);
  return name;
};

/** The value of `--health` that removes the check. */
const NO_CHECK = "none";

/** @param declared the check in `portside.json`, which keeps its other values */
const readHealth = (text: string, declared: unknown): object | null =>
  text === NO_CHECK ? null : { ...(declared as object | null | undefined), path: text };

/** The values of `--idle`. */
export const idleChoices: readonly string[] = [...idleModes, "default"];

const readIdle = (text: string): string | null => {
  if (!idleChoices.includes(text))
    throw new UsageError(`Unknown value of --idle: '${text}'. Choose ${idleChoices.join(", ")}.`);
  return text === "default" ? null : text;
};

export const readDeployable = ({ folder, ...flags }: ReturnType<typeof projectArguments>): Deployable => {
  const problem = folderProblem(folder);
  if (problem !== undefined) throw new UsageError(problem);
  const project = readProjectFile(folder);
  const source = resolve(folder, project?.source ?? ".");
  const sourceProblem = folderProblem(source);
  if (sourceProblem !== undefined)
    throw new CommandError(`'source' in ${join(folder, PROJECT_FILE)}: ${sourceProblem}`);
  const env: [string, unknown][] = [
    ...(flags.envFile === undefined ? [] : readEnvFile(flags.envFile)),
    ...flags.env.map((line) => readVariable(line, "--env")),
    ...flags.secrets.map(secretVariable),
  ];
  const fields: Record<string, unknown> = { volumes: {}, ...project?.fields };
  if (env.length > 0) fields["env"] = { ...(fields["env"] as object | undefined), ...Object.fromEntries(env) };
  if (flags.health !== undefined) fields["health"] = readHealth(flags.health, fields["health"]);
  if (flags.message !== undefined) fields["message"] = flags.message;
  if (flags.idle !== undefined) fields["idle"] = readIdle(flags.idle);
  return {
    name: flags.name ?? project?.name ?? nameFromFolder(folder),
    folder: source,
    fields,
    declared: project !== undefined,
  };
};

/** Returns the fields of the request. `readDeployable` and the platform validate them. */
export const requestOf = ({ name, fields }: Pick<Deployable, "name" | "fields">): DeployFields =>
  ({ function_name: name, ...fields }) as DeployFields;
