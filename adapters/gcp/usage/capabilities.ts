/**
 * Capabilities and limits of Cloud Run's metrics, with reasons:
 * https://docs.cloud.google.com/monitoring/api/metrics_gcp_p_z#gcp-run
 */
import { type Capabilities, offered } from "../../../core/domain/wire/capabilities.ts";
import { METRIC_DELAY_S } from "./metrics.ts";

const LATE = `the data of a minute appears within ${METRIC_DELAY_S / 60 + 1} minutes`;
const ESTIMATED = `estimated from the average utilization of the instances and the current size of the deployment; ${LATE}`;

export const gcpMetrics: Capabilities["metrics"] = {
  requests: offered(`excludes requests that reach no instance; ${LATE}`),
  latency: offered(`excludes the start of an instance; a quantile may be up to two thirds too high; ${LATE}`),
  instances: offered(LATE),
  cpu: offered(ESTIMATED),
  memory: offered(ESTIMATED),
  cold_starts: offered(`all starts of instances, including those for a deploy; ${LATE}`),
  // "6 weeks": https://docs.cloud.google.com/monitoring/quotas#data_retention_policy
  retention_days: 42,
};
