/** The capabilities of this provider: Fargate's sizes and limits, and those of the other AWS services. */

import { cloudDeadlines } from "../../core/domain/accounts/limits.ts";
import { type Capabilities, deadlinesIn, missing, offered } from "../../core/domain/wire/capabilities.ts";
import type { AwsConfig } from "./config.ts";
import { fargateSizes } from "./deploy/fargate-sizes.ts";
import { instanceLimits } from "./deploy/rollout/scaling.ts";
import { awsLogCapabilities } from "./logs/capabilities.ts";
import { awsCron } from "./schedules/capabilities.ts";
import { awsSqlQueries, sqlLagSeconds } from "./sql/index.ts";
import { awsVolumes } from "./volumes/capabilities.ts";

export const awsCapabilities = (config: AwsConfig): Capabilities => ({
  provider: "aws",
  region: config.region,
  runs: offered("a service answers HTTP at '/' with anything but an error of its own (5xx): the load balancer asks"),
  isolation: "full",
  runner: "ECS on Fargate",
  resources: [...fargateSizes],
  instances: { ...instanceLimits },
  scale_to_zero: missing("Fargate keeps one instance of every service running, and it is paid for"),
  concurrency_cap: missing(
    "the load balancer gives an instance any number of requests at once; instances are added where each gets more than concurrency requests a second",
  ),
  request_timeout: missing(
    "the load balancer ends no request for its length; it closes connections that are silent for its idle time, the same for all services",
  ),
  session_affinity: offered(
    "by cookie for a day, best effort; an instance that is full or gone is replaced by another",
  ),
  http2:
    config.shared.scheme === "https"
      ? offered()
      : missing("the load balancer speaks HTTP/2 to services only where its listener is https"),
  memory_limit: offered(),
  cpu_limit: offered(),
  builders: {
    node: offered("Google's buildpacks"),
    python: offered("Google's buildpacks"),
    procfile: offered("Google's buildpacks; for the languages that they know"),
    dockerfile: offered(),
  },
  names: { remembers_freed: offered() },
  volumes: awsVolumes,
  cron: awsCron,
  logs: awsLogCapabilities(config),
  sql: { queries: awsSqlQueries(config), lag_seconds: sqlLagSeconds },
  source_object: offered(),
  deadlines: deadlinesIn(cloudDeadlines),
  subscription: offered(),
});
