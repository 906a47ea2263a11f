/** The memory provider for `portside serve --provider memory`. */
import { z } from "zod";
import type { ProviderModule } from "../../core/ports/provider-module.ts";

export const memoryModule = {
  name: "memory",
  configSchema: z.strictObject({}),
  load: async (_config, deps) => {
    const { createMemoryProvider } = await import("./index.ts");
    const { provider, close } = createMemoryProvider(deps);
    // No identity: keys are in the data folder, where `portside keys create --account` writes them.
    return { provider, close };
  },
} as const satisfies ProviderModule<object>;
