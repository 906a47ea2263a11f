/** Capabilities and limits of Cloud Logging, with reasons. */
import { type Capabilities, missing, offered } from "../../../core/domain/wire/capabilities.ts";
import type { GcpConfig } from "../config.ts";

/** For the `_Default` bucket: https://cloud.google.com/logging/quotas#logs_retention_periods */
const RETENTION_DAYS = 30;

const COUNTING =
  "Counting would use up the quota of 60 reads a minute, which all deployments of the project share. Use a SQL query over `logs`.";

const quota = "by Cloud Logging; all deployments of the project share 60 reads a minute";

export const gcpLogCapabilities = ({ settleSeconds }: GcpConfig): Capabilities["logs"] => ({
  newest: offered(quota),
  since: offered(quota),
  query: offered(`${quota}; the platform evaluates conditions that Cloud Logging does not define exactly`),
  descending: offered(quota),
  histogram: missing(COUNTING),
  values: missing(COUNTING),
  settle_seconds: settleSeconds,
  retention_days: RETENTION_DAYS,
});
