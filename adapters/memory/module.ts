/** The memory provider for `portside serve --provider memory`. */
import { z } from "zod";
import type { ProviderModule } from "../../core/ports/provider-module.ts";

export const memoryModule = {
  name: "memory",
  configSchema: z.strictObject({}),
  load: async (_config, deps) => {
    const { createMemoryProvider } = await import("./index.ts");
    const { provider, close } = createMemoryProvider(deps);
    // Without an identity, Portside uses the data folder's keys, which `portside keys create --account` creates.
    return { provider, close };
  },
} as const satisfies ProviderModule<object>;
