/** The Google Cloud provider for `portside serve`. Its packages load only when the provider starts or is checked. */
import type { z } from "zod";
import type { ProviderModule } from "../../core/ports/provider-module.ts";
import { gcpConfigSchema } from "./config.ts";

export const gcpModule = {
  name: "gcp",
  configSchema: gcpConfigSchema,
  load: async (config, deps) => (await import("./index.ts")).createGcpProvider(config, deps),
  doctor: async function* (config, environment) {
    const { clientSource, diagnoseGcp, gcpConfigOf } = await import("./index.ts");
    const [settings, clients] = [gcpConfigOf(config), clientSource(config.project)];
    let isUsable = true;
    for await (const finding of diagnoseGcp(settings, clients, environment)) {
      isUsable &&= finding.verdict !== "missing";
      yield finding;
    }
    if (!isUsable) return;
    const { checkRunBehavior } = await import("./deploy/check-run-behavior.ts");
    yield* checkRunBehavior(settings, clients);
  },
} as const satisfies ProviderModule<z.output<typeof gcpConfigSchema>>;
