/** Capabilities and limits of CloudWatch Logs, with reasons. */
import { type Capabilities, missing, offered } from "../../../core/domain/wire/capabilities.ts";
import type { AwsConfig } from "../config.ts";

/** Retention of the log group in `docs/providers/aws-template.yaml`. Searches do not go back further. */
export const RETENTION_DAYS = 30;

const COUNTING =
  "Counting would use up the quota of FilterLogEvents, which all deployments of the account and region share. Use a SQL query over `logs`.";

const quota = "by CloudWatch Logs; all deployments of the account and region share the quota of FilterLogEvents";

export const awsLogCapabilities = ({ settleSeconds }: Pick<AwsConfig, "settleSeconds">): Capabilities["logs"] => ({
  newest: offered(`${quota}; stdout and stderr of a service are merged as stdout`),
  since: offered(
    `${quota}; service lines have millisecond timestamps, and lines of the same millisecond are ordered by id`,
  ),
  query: offered(
    `${quota}; CloudWatch Logs evaluates only the time and the source of entries, and the platform evaluates the other ` +
      "conditions: a search over many lines takes many reads of 1 MB, and returns the matches found within its time limit",
  ),
  descending: offered(`${quota}; not for entries from before 2024`),
  histogram: missing(COUNTING),
  values: missing(COUNTING),
  settle_seconds: settleSeconds,
  retention_days: RETENTION_DAYS,
});
