/** Assembles the ports of the provider for one project and region. */
import { join } from "node:path";
import { CONTRACT_VERSION, type Provider } from "../../core/ports/provider.ts";
import { createBucketSpool } from "../cloud/deploy/build/bucket-spool.ts";
import { lastLinesOf } from "../cloud/deploy/last-lines.ts";
import { checkStart } from "../cloud/start-refused.ts";
import { createDiskSpool } from "../shared/archives/disk-spool.ts";
import { spoolLocation } from "../shared/archives/spool-location.ts";
import { createIdentities } from "./accounts/identities.ts";
import { type GcpRuntimeDeps, googleCalls } from "./call-policy.ts";
import { gcpCapabilities } from "./capabilities.ts";
import { clientSource } from "./clients.ts";
import { type GcpConfigInput, gcpConfigOf } from "./config.ts";
import { createCloudBuilder } from "./deploy/build/builder.ts";
import { gcsSpool } from "./deploy/build/spool-bucket.ts";
import { createRunPlatform } from "./deploy/platform.ts";
import { diagnoseGcp } from "./doctor.ts";
import { createGcpLogs } from "./logs/store.ts";
import { createGcpScheduler } from "./schedules/scheduler.ts";
import { createGcpSecrets } from "./secrets/secret-store.ts";
import { createGcpSql } from "./sql/index.ts";
import { createGcpMetrics } from "./usage/metrics.ts";
import { createGcpVolumes } from "./volumes/volume-store.ts";

/** A running Google Cloud provider. */
export interface GcpProvider {
  readonly provider: Provider;
  /** Aborts the creation of identities, waits for other background work, and closes the SQL engine. */
  close(): Promise<void>;
}

/**
 * Checks the project's setup, and creates the provider. Throws `StartRefused` if the project does not meet a
 * requirement. The message of the error contains the commands that fix the setup. Throws another error if the bucket
 * for the claims of volumes is unsuitable or cannot be read.
 */
export const createGcpProvider = async (input: GcpConfigInput, deps: GcpRuntimeDeps): Promise<GcpProvider> => {
  const config = gcpConfigOf(input);
  const { project, stagingBucket } = config;
  const { environment = process.env } = deps;
  const clients = clientSource(project, input.clients);
  const findings = await Array.fromAsync(diagnoseGcp(config, clients, environment));
  checkStart(findings);
  for (const { what, words, verdict } of findings)
    if (verdict === "warning") deps.logger.warn("a check of the project returned a warning", { what, words });

  const logs = createGcpLogs(config, clients, deps);
  const identities = createIdentities(project, clients, deps);
  const volumes = createGcpVolumes(config, clients, deps, identities);
  const shortLife = await volumes.softDeleteProblem();
  if (shortLife.isErr()) throw new Error(shortLife.error.message, { cause: shortLife.error.cause });
  if (shortLife.value !== undefined) throw new Error(shortLife.value);
  // The sweep may take minutes, so the start does not wait for it.
  const sweeping = volumes.sweep().match(
    () => undefined,
    (error) => deps.logger.warn("setting the CORS rules of buckets failed; the next start retries it", { error }),
  );
  const sql = createGcpSql(config, clients, deps);
  const secrets = createGcpSecrets(config, clients, deps, identities);
  const lastLines = lastLinesOf(logs.deployReads);
  const services = createRunPlatform(config, clients, deps, { lastLines, identities, secrets });
  const spoolFolder = join(config.dataDir, "spool");
  const place = spoolLocation(config.sourceSpool, spoolFolder, stagingBucket, environment);
  const provider: Provider = {
    contractVersion: CONTRACT_VERSION,
    capabilities: gcpCapabilities(config),
    services,
    builder: createCloudBuilder(config, clients, deps, identities),
    volumes,
    secrets,
    scheduler: createGcpScheduler(config, clients, deps),
    logs,
    sql,
    metrics: createGcpMetrics(config, clients, deps, services),
    spool:
      place.in === "disk"
        ? createDiskSpool(spoolFolder, deps.ids)
        : createBucketSpool(gcsSpool(stagingBucket, clients, googleCalls(deps)), deps),
    check: (options) => volumes.check(options),
  };
  return {
    provider,
    close: async () => {
      identities.close();
      await sweeping;
      await volumes.idle();
      await sql.close();
    },
  };
};
