/** Capabilities and limits of metrics in CloudWatch, with reasons. */
import { type Capabilities, missing, offered } from "../../../core/domain/wire/capabilities.ts";
import { METRIC_DELAY_S } from "./metrics.ts";

const LATE = `the data of a minute appears within ${METRIC_DELAY_S / 60 + 1} minutes`;
const ESTIMATED = `estimated from the average utilization of the tasks and the current size of the deployment; ${LATE}`;

export const awsMetrics: Capabilities["metrics"] = {
  requests: offered(`excludes responses of the load balancer itself; ${LATE}`),
  latency: offered(`a quantile may be up to 2.4 times too high; ${LATE}`),
  instances: offered(LATE),
  cpu: offered(ESTIMATED),
  memory: offered(ESTIMATED),
  cold_starts: missing("ECS does not report the starts of tasks"),
  // CloudWatch keeps points of one minute for 15 days (API_GetMetricData), but lists only metrics with data within two
  // weeks (API_ListMetrics).
  retention_days: 14,
};
