/** The capabilities of the AWS provider, with reasons, including the sizes and limits of Fargate. */
import { cloudDeadlines } from "../../core/domain/accounts/limits.ts";
import { type Capabilities, deadlinesIn, missing, offered } from "../../core/domain/wire/capabilities.ts";
import type { AwsConfig } from "./config.ts";
import { fargateSizes } from "./deploy/fargate-sizes.ts";
import { healthRanges } from "./deploy/render.ts";
import { instanceLimits } from "./deploy/rollout/scaling.ts";
import { awsDomainsFeature } from "./domains/capabilities.ts";
import { awsLogCapabilities } from "./logs/capabilities.ts";
import { awsCron } from "./schedules/capabilities.ts";
import { awsSqlQueries, sqlLagSeconds } from "./sql/index.ts";
import { awsMetrics } from "./usage/capabilities.ts";
import { awsVolumes } from "./volumes/capabilities.ts";

/** Returns the capabilities of the AWS provider with this configuration. */
export const awsCapabilities = (config: AwsConfig): Capabilities => ({
  provider: "aws",
  region: config.region,
  runs: offered("the load balancer checks '/' of services without `health`, which must return a status below 500"),
  isolation: "full",
  runner: "ECS on Fargate",
  resources: [...fargateSizes],
  instances: { ...instanceLimits },
  instance_list: missing("the AWS provider does not list the tasks of a service"),
  scale_to_zero: missing(
    "ECS keeps at least one Fargate task of each service running, and AWS bills it around the clock",
  ),
  min_instances: offered("ECS keeps at least one Fargate task of each service running"),
  health: {
    supported: true,
    note: "by the load balancer; ECS replaces unhealthy tasks",
    ranges: healthRanges,
    host: missing("the load balancer sends the instance's address in the `Host` header of a health check"),
  },
  idle: missing("ECS keeps at least one Fargate task of each service running"),
  busy_leases: missing("ECS decides when a task stops"),
  concurrency_cap: missing(
    "the load balancer does not limit an instance's concurrent requests; autoscaling adds instances when each receives more requests per second than its concurrency",
  ),
  request_timeout: missing(
    "the load balancer does not limit a request's duration; it closes idle connections after a timeout that all services share",
  ),
  session_affinity: offered(
    "by cookie for a day, best effort; if the instance has stopped or is unhealthy, a different one serves the request",
  ),
  http2:
    config.shared.scheme === "https"
      ? offered()
      : missing("the load balancer uses HTTP/2 to services only with an https listener"),
  memory_limit: offered(),
  cpu_limit: offered(),
  builders: {
    node: offered("Google's buildpacks"),
    python: offered("Google's buildpacks"),
    procfile: offered("Google's buildpacks, for the languages that they support"),
    dockerfile: offered(),
  },
  names: { remembers_freed: offered() },
  secrets: offered("in Secrets Manager, in the region of the services"),
  releases: offered(`with the images of the last ${config.releasesKept} releases of a deployment`),
  domains: awsDomainsFeature(config),
  volumes: awsVolumes,
  cron: awsCron,
  logs: awsLogCapabilities(config),
  sql: { queries: awsSqlQueries(config), lag_seconds: sqlLagSeconds },
  source_object: offered(),
  deadlines: deadlinesIn(cloudDeadlines),
  metrics: awsMetrics,
  subscription: offered(),
});
