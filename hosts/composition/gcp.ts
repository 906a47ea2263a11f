/** The settings of the provider gcp, as its configuration. */
import type { GcpConfigInput } from "../../adapters/gcp/config.ts";
import { type ServeSettings, SettingsError } from "./settings.ts";

const needed = (value: string | undefined, flag: string): string => {
  if (value !== undefined) return value;
  throw new SettingsError(`The provider gcp needs --${flag} (or PORTSIDE_${flag.replaceAll("-", "_").toUpperCase()}).`);
};

/** Throws `SettingsError` where one is lacking that has no default. */
export const gcpConfigFrom = (settings: ServeSettings): GcpConfigInput => ({
  project: needed(settings.gcpProject, "gcp-project"),
  region: needed(settings.gcpRegion, "gcp-region"),
  dataDir: settings.dataDir,
  repository: settings.gcpRepository,
  stagingBucket: settings.gcpStagingBucket,
  buildIdentity: settings.gcpBuildIdentity,
  settleSeconds: settings.gcpSettleSeconds,
  logReadsPerMinute: settings.gcpLogReadsPerMinute,
  logDataset: settings.gcpLogDataset,
  billingTable: settings.gcpBillingTable,
  sqlLocation: settings.gcpSqlLocation,
  sqlBytesBilled: settings.gcpSqlBytesBilled,
  softDelete: settings.gcpSoftDelete,
});
