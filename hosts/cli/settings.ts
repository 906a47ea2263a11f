/** Platform settings as flags, shared by the commands that build a platform. */
import {
  choicesOf,
  flagOf,
  isList,
  misspeltVariables,
  resolveSettings,
  type ServeSettings,
  type SettingKey,
  SettingsError,
  serveShape,
  settingKeys,
} from "../composition/settings.ts";
import { type Option, type Options, option } from "./arguments.ts";
import type { Input } from "./command.ts";
import { warn } from "./terminal/colour.ts";
import { type Io, UsageError } from "./terminal/io.ts";

const optionFor = (key: SettingKey): Option => {
  const value = key.endsWith("Dir") ? "DIR" : key.toLowerCase().endsWith("port") ? "PORT" : "VALUE";
  return option(value, serveShape[key].description ?? "", { multiple: isList(key), choices: choicesOf(key) });
};

const textOf = (input: Input, key: SettingKey): string | undefined => {
  if (!isList(key)) return input.text(flagOf(key));
  const given = input.texts(flagOf(key));
  return given.length === 0 ? undefined : given.join(",");
};

/** Resolves settings from the command's flags, variables and config file. Throws `UsageError` if they are invalid. */
export const settingsFrom = (input: Input, io: Io): ServeSettings => {
  for (const problem of misspeltVariables(io.env)) warn(io, problem);
  const flags = Object.fromEntries(settingKeys.map((key) => [key, textOf(input, key)]));
  try {
    return resolveSettings(flags, io.env, input.text("config"));
  } catch (error) {
    if (error instanceof SettingsError) throw new UsageError(error.message);
    throw error;
  }
};

export const settingOptions: Options = {
  config: option("FILE", "Read settings from a JSON file (default: DATA_DIR/portside.config.json)"),
  ...Object.fromEntries(settingKeys.map((key) => [flagOf(key), optionFor(key)])),
};

/**
 * Returns the options of `serve` that choose a data folder, and the named further ones, for a command that works on a
 * data folder. Copies them, because the generator of commands.md omits the shared objects.
 */
export const dataFolderOptions = (...further: readonly string[]): Options =>
  Object.fromEntries(["config", "data-dir", ...further].map((name) => [name, { ...(settingOptions[name] as Option) }]));
