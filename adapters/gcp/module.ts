/** The Google Cloud provider for `portside serve --provider gcp`. Google's packages load when it starts or is checked. */
import type { z } from "zod";
import type { ProviderModule } from "../../core/ports/provider-module.ts";
import { gcpConfigSchema } from "./config.ts";

export const gcpModule = {
  name: "gcp",
  configSchema: gcpConfigSchema,
  load: async (config, deps) => (await import("./index.ts")).createGcpProvider(config, deps),
  doctor: async function* (config, environment) {
    const { clientSource, diagnoseGcp, gcpConfigOf } = await import("./index.ts");
    yield* diagnoseGcp(gcpConfigOf(config), clientSource(config.project), environment);
  },
} as const satisfies ProviderModule<z.output<typeof gcpConfigSchema>>;
