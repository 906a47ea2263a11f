/** Loads providers by name, each only when it is chosen. The caller supplies defaults for optional parts. */
import { isAbsolute, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Identity, Provider } from "../../../core/ports/provider.ts";
import type { Clock, Ids, Logger } from "../../../core/ports/system.ts";
import type { Telemetry } from "../../../core/ports/telemetry.ts";
import { issuersOf } from "../accounts/issuers.ts";
import { type ServeSettings, SettingsError } from "../settings.ts";
import { awsConfigFrom, gcpConfigFrom } from "./cloud-config.ts";

export interface Ambient {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  readonly telemetry: Telemetry;
}

/** What `createProvider(config)` of a provider module (`--provider PATH`) returns, directly or as a promise. */
export interface ProvidedParts {
  readonly provider: Provider;
  /** The provider's own credentials. If absent, Portside keeps API keys in the data folder. */
  readonly identity?: Identity;
  /** The port that routes requests to services by host name, if the provider has one. */
  readonly ingressPort?: number;
  /** A value stored under a name across restarts. The server keeps its API port there. */
  readonly remembered?: (name: string) => { get(): string | undefined; set(value: string): void };
  /** Returns true if the caller must create the first key. Must return false if a key exists. */
  readonly claimFirstKey?: () => boolean | Promise<boolean>;
  close?(): Promise<void>;
}

const local = async (settings: ServeSettings, ambient: Ambient): Promise<ProvidedParts> => {
  const { createLocalProvider } = await import("../../../adapters/local/index.ts");
  const { dataDir, host, ingressPort, domain, runner, maxInstances, idleSeconds, queue, drainSeconds, graceSeconds } =
    settings;
  const { elsewhereSeconds, logRetentionDays, logMaxBytes, buildMemory, priceList, instances, acceptState } = settings;
  const config = {
    ...{ dataDir, host, ingressPort, domain, runner, maxInstances, idleSeconds, queue, drainSeconds, graceSeconds },
    ...{
      elsewhereSeconds,
      logRetentionDays,
      logMaxBytes,
      buildMemory,
      priceList,
      instancesPerAccount: instances,
      acceptState,
      uidRange: settings.uidRange,
      allowHostPort: settings.allowHostPort,
    },
  };
  return createLocalProvider(config, { ...ambient, issuers: issuersOf(settings) });
};

const gcp = async (settings: ServeSettings, ambient: Ambient): Promise<ProvidedParts> => {
  const { createGcpProvider } = await import("../../../adapters/gcp/index.ts");
  return createGcpProvider(gcpConfigFrom(settings), ambient);
};

const aws = async (settings: ServeSettings, ambient: Ambient): Promise<ProvidedParts> => {
  const { createAwsProvider } = await import("../../../adapters/aws/index.ts");
  return createAwsProvider(awsConfigFrom(settings), ambient);
};

const memory = async (_settings: ServeSettings, ambient: Ambient): Promise<ProvidedParts> => {
  const { createMemoryProvider } = await import("../../../adapters/memory/index.ts");
  const { provider, close } = createMemoryProvider(ambient);
  // No identity: keys are in the data folder, where 'portside keys create --account' writes them.
  return { provider, close };
};

const fromModule = async (name: string, settings: ServeSettings): Promise<ProvidedParts> => {
  const path = isAbsolute(name) ? name : resolve(name);
  const loaded = (await import(pathToFileURL(path).href)) as { createProvider?: (config: unknown) => unknown };
  if (typeof loaded.createProvider !== "function")
    throw new SettingsError(`${path} does not export createProvider(config).`);
  return (await loaded.createProvider(settings.sections[name] ?? {})) as ProvidedParts;
};

/** Providers that build remotely, so sources may wait in their bucket. */
const clouds: readonly string[] = ["gcp", "aws"];

export const loadProvider = (settings: ServeSettings, ambient: Ambient): Promise<ProvidedParts> => {
  const { provider, sourceSpool } = settings;
  if (sourceSpool === "bucket" && !clouds.includes(provider))
    throw new SettingsError(`--source-spool bucket is for the providers gcp and aws; '${provider}' has no bucket.`);
  if (provider === "local") return local(settings, ambient);
  if (provider === "gcp") return gcp(settings, ambient);
  if (provider === "aws") return aws(settings, ambient);
  if (provider === "memory") return memory(settings, ambient);
  if (/[./\\]/.test(provider)) return fromModule(provider, settings);
  throw new SettingsError(
    `There is no provider '${provider}'; choose local, gcp, aws, memory, or a module's path such as ./my-provider.js.`,
  );
};
