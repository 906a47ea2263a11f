/** Finds the provider that the settings choose, and validates its configuration. */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { ConfigIssue, LoadedProvider, ProviderModule } from "../../../core/ports/provider-module.ts";
import { flagOf, type ServeSettings, SettingsError, variableOf } from "../settings.ts";
import { providerNames, providers } from "./index.ts";
import type { RegisteredProvider } from "./register.ts";

export interface ChosenProvider {
  readonly module: ProviderModule;
  /** Validated by the module's schema. */
  readonly config: unknown;
}

/** Returns the issue as a sentence. `nameOf` names a field as the operator wrote it. */
const describeIssue = ({ path = [], message }: ConfigIssue, nameOf: (path: readonly string[]) => string): string => {
  const name = nameOf(path.map((step) => String(typeof step === "object" ? step.key : step)));
  return message.startsWith("must ") ? `${name} ${message}.` : `${name}: ${message}.`;
};

/** @throws SettingsError with every issue if the configuration does not match the module's schema */
const validated = async (
  module: ProviderModule,
  input: unknown,
  nameOf: (path: readonly string[]) => string,
): Promise<ChosenProvider> => {
  const result = await module.configSchema["~standard"].validate(input);
  if (result.issues !== undefined)
    throw new SettingsError(result.issues.map((issue) => describeIssue(issue, nameOf)).join("\n"));
  return { module, config: result.value };
};

const inSection = (section: string, path: readonly string[]): string =>
  path.length === 0
    ? `Section '${section}' of the configuration file`
    : `'${path.join(".")}' in section '${section}' of the configuration file`;

const fromSettings = (
  { module, keys, required, section }: RegisteredProvider,
  settings: ServeSettings,
): Promise<ChosenProvider> => {
  const { name } = module;
  const values = settings as unknown as Readonly<Record<string, unknown>>;
  const missing = required.filter((key) => values[key] === undefined);
  if (missing.length > 0) {
    const names = missing.map((key) => `--${flagOf(key)} (or ${variableOf(key)})`);
    throw new SettingsError(`The provider ${name} needs ${names.join(" and ")}.`);
  }
  const config = Object.fromEntries(Object.entries(keys).map(([field, key]) => [field, values[key]]));
  if (section !== undefined) config[section] = settings.sections[name] ?? {};
  return validated(module, config, ([field = "", ...rest]) =>
    field === section ? inSection(name, rest) : `--${flagOf(keys[field] ?? field)}`,
  );
};

const isModule = (value: unknown): value is ProviderModule => {
  const { configSchema, load } = (value ?? {}) as Partial<ProviderModule>;
  return typeof load === "function" && typeof configSchema?.["~standard"]?.validate === "function";
};

/** Wraps a module of the older form, which exports `createProvider(section)`. Does not validate the section. */
const fromFunction = (name: string, create: (config: unknown) => unknown): ProviderModule => ({
  name,
  configSchema: { "~standard": { version: 1, vendor: "portside", validate: (value) => ({ value }) } },
  load: async (config) => (await create(config)) as LoadedProvider,
});

const fromPath = async (path: string, settings: ServeSettings): Promise<ChosenProvider> => {
  const file = resolve(path);
  if (!existsSync(file)) throw new SettingsError(`The provider module ${file} does not exist. Check --provider.`);
  const exported = (await import(pathToFileURL(file).href)) as {
    readonly default?: unknown;
    readonly createProvider?: (config: unknown) => unknown;
  };
  const { default: module, createProvider } = exported;
  if (!isModule(module) && typeof createProvider !== "function")
    throw new SettingsError(
      `${file} is not a provider module. Its default export must have configSchema and load(config, deps).`,
    );
  const chosen = isModule(module) ? module : fromFunction(path, createProvider as (config: unknown) => unknown);
  return validated(chosen, settings.sections[path] ?? {}, (field) => inSection(path, field));
};

/** @throws SettingsError if no such provider exists or its configuration is invalid */
export const chooseProvider = async (settings: ServeSettings): Promise<ChosenProvider> => {
  const { provider } = settings;
  const registered = providers.find(({ module }) => module.name === provider);
  if (registered !== undefined) return fromSettings(registered, settings);
  if (/[./\\]/.test(provider)) return fromPath(provider, settings);
  throw new SettingsError(
    `Unknown provider '${provider}'. Choose ${providerNames.join(", ")}, or a module's path such as ./my-provider.js.`,
  );
};
