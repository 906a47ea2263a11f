/** Creates the AWS provider, which implements a provider's ports for one AWS account and one region. */
import { join } from "node:path";
import { CONTRACT_VERSION, type Provider } from "../../core/ports/provider.ts";
import { createBucketSpool } from "../cloud/deploy/build/bucket-spool.ts";
import { lastLinesOf } from "../cloud/deploy/last-lines.ts";
import { checkStart } from "../cloud/start-refused.ts";
import { createDiskSpool } from "../shared/archives/disk-spool.ts";
import { spoolLocation } from "../shared/archives/spool-location.ts";
import { createIdentities } from "./accounts/identities.ts";
import { awsCalls } from "./call-policy.ts";
import { awsCapabilities } from "./capabilities.ts";
import { type ClientSource, clientSource } from "./clients.ts";
import { type AwsConfig, type AwsConfigInput, awsSettingsOf } from "./config.ts";
import { createCodeBuilder } from "./deploy/build/builder.ts";
import { s3Spool } from "./deploy/build/spool-bucket.ts";
import { createImageRetention } from "./deploy/images/image-retention.ts";
import { createEcsPlatform } from "./deploy/platform.ts";
import { createRecords } from "./deploy/records/records.ts";
import { diagnoseAws } from "./doctor.ts";
import { type AwsDomains, createAwsDomains, type DomainRuntime } from "./domains/domains.ts";
import { createAwsLogs } from "./logs/store.ts";
import { createAwsScheduler } from "./schedules/scheduler.ts";
import { createAwsSecrets } from "./secrets/secret-store.ts";
import { configWith, outputsOf, unnamedResources } from "./shared-resources.ts";
import { createAwsSql } from "./sql/index.ts";
import { type StateBucket, stateBucket } from "./state/state-bucket.ts";
import { createAwsMetrics } from "./usage/metrics.ts";
import { createAwsVolumes } from "./volumes/volume-store.ts";

/** A running AWS provider. */
export interface AwsProvider {
  readonly provider: Provider;
  /** Cancels pending retries, waits for running background work, and ends the process that translates SQL. */
  close(): Promise<void>;
}

/** Throws if the load balancers cannot be read. */
const openDomains = async (
  config: AwsConfig,
  clients: ClientSource,
  deps: DomainRuntime,
  bucket: StateBucket,
): Promise<AwsDomains> => {
  const opened = await createAwsDomains(config, clients, deps, bucket);
  if (opened.isErr()) throw new Error(opened.error.message, { cause: opened.error.cause });
  const swept = await opened.value.sweep();
  if (swept.isErr())
    deps.logger.warn("the clean-up of domains did not start; the next start retries it", { error: swept.error });
  return opened.value;
};

/**
 * Checks the AWS account and creates the provider. Throws `StartRefused` if the account lacks something that the
 * platform requires; the error's message states how to fix it.
 */
export const createAwsProvider = async (input: AwsConfigInput, deps: DomainRuntime): Promise<AwsProvider> => {
  const settings = awsSettingsOf(input);
  const { environment = process.env } = deps;
  const clients = clientSource(settings.region, input.clients);
  const findings = await Array.fromAsync(diagnoseAws(settings, clients, environment));
  checkStart(findings);
  for (const { what, words, verdict } of findings)
    if (verdict === "warning") deps.logger.warn("a check of the account returned a warning", { what, words });
  const outputs = unnamedResources(settings).length === 0 ? {} : await outputsOf(settings.stack, clients);
  const config = configWith(settings, outputs);

  const logs = createAwsLogs(config, clients, deps);
  const volumes = createAwsVolumes(config, clients, deps);
  const sql = createAwsSql(config, clients, deps);
  const identities = createIdentities(config, clients, deps);
  const secrets = createAwsSecrets(config, clients, deps, identities);
  const services = createEcsPlatform(config, clients, deps, {
    identities,
    secrets,
    mountable: async (bucket, options) => volumes.mountable(bucket, options),
    lastLines: lastLinesOf(logs.deployReads),
  });
  const records = stateBucket(config.shared.stateBucket, clients, awsCalls(deps));
  const images = createImageRetention(config, clients, deps);
  const domains = config.shared.scheme === "https" ? await openDomains(config, clients, deps, records) : undefined;
  // The sweep may take minutes, so the start does not wait for it.
  const sweeping = volumes.sweep().match(
    () => undefined,
    (error) => deps.logger.warn("the clean-up of volumes failed; the next start retries it", { error }),
  );
  const spoolFolder = join(config.dataDir, "spool");
  const { stateBucket: bucket } = config.shared;
  const waiting = spoolLocation(config.sourceSpool, spoolFolder, bucket, environment);
  const provider: Provider = {
    contractVersion: CONTRACT_VERSION,
    capabilities: awsCapabilities(config),
    services,
    builder: images.keepUsed(createCodeBuilder(config, clients, deps)),
    volumes,
    scheduler: createAwsScheduler(config, clients, deps),
    logs,
    sql,
    metrics: createAwsMetrics(config, clients, deps, createRecords(records)),
    secrets,
    ...(domains && { domains: domains.ports }),
    spool:
      waiting.in === "disk"
        ? createDiskSpool(spoolFolder, deps.ids)
        : createBucketSpool(s3Spool(bucket, clients, awsCalls(deps)), deps),
    check: (options) => volumes.check(options),
  };
  return {
    provider,
    close: async () => {
      await sweeping;
      await domains?.close();
      await images.idle();
      await volumes.idle();
      await sql.close();
    },
  };
};
