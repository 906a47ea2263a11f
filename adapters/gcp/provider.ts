/** The complete provider: all ports for one project and one region. */
import { join } from "node:path";
import { CONTRACT_VERSION, type Provider } from "../../core/ports/provider.ts";
import { createBucketSpool } from "../shared/bucket-spool.ts";
import { createDiskSpool } from "../shared/disk-spool.ts";
import { lastLinesOf } from "../shared/last-lines.ts";
import { spoolPlace } from "../shared/spool-place.ts";
import { checkStart } from "../shared/start-refused.ts";
import { createGcpSql } from "./bigquery/index.ts";
import { createCloudBuilder } from "./build/builder.ts";
import { gcsSpool } from "./build/spool-bucket.ts";
import { gcpCapabilities } from "./capabilities.ts";
import { clientSource } from "./clients.ts";
import { type GcpConfigInput, gcpConfigOf } from "./config.ts";
import { diagnoseGcp } from "./doctor.ts";
import { type GcpAmbient, googleCalls } from "./google.ts";
import { createIdentities } from "./identities.ts";
import { createGcpLogs } from "./logging/store.ts";
import { createRunPlatform } from "./run/platform.ts";
import { createGcpScheduler } from "./scheduler/scheduler.ts";
import { createGcpVolumes } from "./storage/volume-store.ts";

export interface GcpProvider {
  readonly provider: Provider;
  close(): Promise<void>;
}

/** Throws `StartRefused`, whose message has the commands that fix it, if the project lacks something that the platform requires. */
export const createGcpProvider = async (input: GcpConfigInput, deps: GcpAmbient): Promise<GcpProvider> => {
  const config = gcpConfigOf(input);
  const { project, stagingBucket } = config;
  const { environment = process.env } = deps;
  const clients = clientSource(project, input.clients);
  const findings = await Array.fromAsync(diagnoseGcp(config, clients, environment));
  checkStart(findings);
  for (const { what, words, verdict } of findings)
    if (verdict === "warning")
      deps.logger.warn("the project lacks something, or could not be looked at", { what, words });

  const logs = createGcpLogs(config, clients, deps);
  const identities = createIdentities(project, clients, deps);
  const volumes = createGcpVolumes(config, clients, deps);
  const shortLife = await volumes.softDeleteProblem();
  if (shortLife.isErr()) throw new Error(shortLife.error.message, { cause: shortLife.error.cause });
  if (shortLife.value !== undefined) throw new Error(shortLife.value);
  const sql = createGcpSql(config, clients, deps);
  const services = createRunPlatform(config, clients, deps, { lastLines: lastLinesOf(logs), identities });
  const spoolFolder = join(config.dataDir, "spool");
  const waiting = spoolPlace(config.sourceSpool, spoolFolder, stagingBucket, environment);
  const provider: Provider = {
    contractVersion: CONTRACT_VERSION,
    capabilities: gcpCapabilities(config),
    services,
    builder: createCloudBuilder(config, clients, deps),
    volumes,
    scheduler: createGcpScheduler(config, clients, deps),
    logs,
    sql,
    spool:
      waiting.in === "disk"
        ? createDiskSpool(spoolFolder, deps.ids)
        : createBucketSpool(gcsSpool(stagingBucket, clients, googleCalls(deps)), deps),
    check: (options) => volumes.check(options),
  };
  return {
    provider,
    close: async () => {
      await volumes.idle();
      await sql.close();
    },
  };
};
