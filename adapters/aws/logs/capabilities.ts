/** The capabilities and limits of CloudWatch Logs. */
import { type Capabilities, offered } from "../../../core/domain/wire/capabilities.ts";
import type { AwsConfig } from "../config.ts";

/** The retention of the log group in `docs/providers/aws-template.yaml`. Searches go back no further. */
export const RETENTION_DAYS = 30;

const quota = "by CloudWatch Logs, whose FilterLogEvents all deployments of the account and region share";

export const awsLogCapabilities = ({ settleSeconds }: Pick<AwsConfig, "settleSeconds">): Capabilities["logs"] => ({
  newest: offered(`${quota}; what a service writes to its two streams arrives as one, as stdout`),
  since: offered(`${quota}; lines have the millisecond, and those of one the order of their ids`),
  query: offered(
    `${quota}; it looks for times and for the platform's own entries, and the platform for the rest: ` +
      "a search among many lines takes many reads of 1 MB, and ends with what it has found",
  ),
  settle_seconds: settleSeconds,
  retention_days: RETENTION_DAYS,
});
