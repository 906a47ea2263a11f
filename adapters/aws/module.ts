/** The AWS provider for `portside serve` and `portside doctor`. Loads the adapter only when a command uses AWS. */
import type { ProviderModule } from "../../core/ports/provider-module.ts";
import { type AwsSettings, awsConfigSchema } from "./config.ts";

export const awsModule = {
  name: "aws",
  configSchema: awsConfigSchema,
  load: async (config, deps) => (await import("./index.ts")).createAwsProvider(config, deps),
  doctor: async function* (config, environment) {
    const { clientSource, diagnoseAws } = await import("./index.ts");
    yield* diagnoseAws(config, clientSource(config.region), environment);
  },
} as const satisfies ProviderModule<AwsSettings>;
