/** The local provider for `portside serve --provider local`. */
import type { ProviderModule } from "../../core/ports/provider-module.ts";
import { type LocalConfig, localConfigSchema } from "./config.ts";
import type { LocalDeps } from "./index.ts";

export const localModule = {
  name: "local",
  configSchema: localConfigSchema,
  /** @param deps may name further issuers of bearer tokens */
  load: async (config, deps: LocalDeps) => (await import("./index.ts")).createLocalProvider(config, deps),
  doctor: async function* (config, environment) {
    yield* (await import("./doctor.ts")).diagnoseLocal(config, environment);
  },
} as const satisfies ProviderModule<LocalConfig>;
