/**
 * The built-in providers. To add one, add its folder to `adapters` and a line to this list.
 * A module must not import the provider's packages at its top level, because `--help` loads every module.
 */
import { awsModule } from "../../../adapters/aws/module.ts";
import { gcpModule } from "../../../adapters/gcp/module.ts";
import { localModule } from "../../../adapters/local/module.ts";
import { memoryModule } from "../../../adapters/memory/module.ts";
import { type RegisteredProvider, register } from "./register.ts";

const registered = [
  register(localModule, { prefix: "", omit: ["servicePorts"] }),
  register(gcpModule),
  register(awsModule, { section: "shared" }),
  register(memoryModule),
] as const;

type Merged<T> = T extends readonly [RegisteredProvider<infer S>, ...infer Rest] ? S & Merged<Rest> : unknown;

/** The built-in providers, in the order in which the help and messages list them. */
export const providers: readonly RegisteredProvider[] = registered;

export const providerNames: readonly string[] = providers.map(({ module }) => module.name);

/** The settings of all providers, by key. */
export const providerSettings = Object.assign({}, ...providers.map(({ settings }) => settings)) as Merged<
  typeof registered
>;

/** Lists names in a sentence: `local, gcp and aws`. */
export const formatList = (names: readonly string[]): string => new Intl.ListFormat("en-GB").format(names);
