/** What the chosen provider needs, and whether it is there. */
import type { Finding } from "../../core/domain/finding.ts";
import { awsConfigFrom, gcpConfigFrom } from "./provider-config.ts";
import { type ServeSettings, SettingsError } from "./settings.ts";

/** Findings as they are made. */
export async function* diagnose(settings: ServeSettings, env: NodeJS.ProcessEnv): AsyncGenerator<Finding> {
  const { provider } = settings;
  if (provider === "local") {
    const { diagnoseLocal } = await import("../../adapters/local/doctor.ts");
    yield* diagnoseLocal(settings, env);
  } else if (provider === "gcp") {
    const { clientSource, diagnoseGcp, gcpConfigOf } = await import("../../adapters/gcp/index.ts");
    const config = gcpConfigOf(gcpConfigFrom(settings));
    yield* diagnoseGcp(config, clientSource(config.project));
  } else if (provider === "aws") {
    const { awsSettingsOf, clientSource, diagnoseAws } = await import("../../adapters/aws/index.ts");
    const config = awsSettingsOf(awsConfigFrom(settings));
    yield* diagnoseAws(config, clientSource(config.region));
  } else throw new SettingsError(`The doctor knows the providers local, gcp and aws, not '${provider}'.`);
}
