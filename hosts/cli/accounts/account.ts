/** The platform and key that a command uses. Precedence: flags, variables, the account saved by `login`. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { CommandError, type Io, UsageError } from "../terminal/io.ts";

export const DEFAULT_URL = "http://127.0.0.1:8787";

export interface Account {
  readonly url: string;
  readonly apiKey: string;
}

/** The folder of the command line's configuration for this user. */
export const configFolder = (env: NodeJS.ProcessEnv): string =>
  join(env["XDG_CONFIG_HOME"] || join(env["HOME"] || homedir(), ".config"), "portside");

const configPath = (env: NodeJS.ProcessEnv): string => join(configFolder(env), "config.json");

const readSavedAccount = (env: NodeJS.ProcessEnv): Partial<Account> => {
  try {
    return JSON.parse(readFileSync(configPath(env), "utf8")) as Partial<Account>;
  } catch {
    // This user has not logged in, or the file is not readable.
    return {};
  }
};

const validUrl = (url: string): string => {
  if (!/^https?:\/\/./.test(url) || !URL.canParse(url))
    throw new UsageError(`'${url}' is not a URL. Pass a URL such as ${DEFAULT_URL}.`);
  return url.replace(/\/+$/, "");
};

export const findUrl = (io: Io, flag: string | undefined): string =>
  validUrl(flag ?? (io.env["PORTSIDE_URL"] || readSavedAccount(io.env).url || DEFAULT_URL));

export const findAccount = (io: Io, flag: string | undefined): Account => {
  const apiKey = io.env["PORTSIDE_API_KEY"] || readSavedAccount(io.env).apiKey;
  if (apiKey === undefined) throw new CommandError("Missing API key. Set PORTSIDE_API_KEY, or run 'portside login'.");
  // fetch would report an invalid header value as a failed connection, with the key in the message.
  if (!/^[!-~]+$/.test(apiKey))
    throw new CommandError("The API key contains spaces, line breaks or other invalid characters. Copy the key again.");
  return { url: findUrl(io, flag), apiKey };
};

/** Saves the account in a file that only this user may read. Returns its path. */
export const saveAccount = (io: Io, account: Account): string => {
  const path = configPath(io.env);
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, `${JSON.stringify(account, null, 2)}\n`, { mode: 0o600 });
  return path;
};
