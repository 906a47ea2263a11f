/** Capabilities of this provider: the features and limits of Cloud Run and other Google Cloud services. */

import { cloudDeadlines, uploadHours } from "../../core/domain/accounts/limits.ts";
import { type Capabilities, deadlinesIn, missing, offered } from "../../core/domain/wire/capabilities.ts";
import { cloudRunSizes } from "../shared/deploy/cloud-run-sizes.ts";
import type { GcpConfig } from "./config.ts";
import { PROBE_SECONDS, probeRanges } from "./deploy/probes.ts";
import { gcpLogCapabilities } from "./logs/capabilities.ts";
import { gcpCron } from "./schedules/capabilities.ts";
import { gcpSqlQueries, sqlLagSeconds } from "./sql/index.ts";
import { gcpMetrics } from "./usage/capabilities.ts";

const OWN_SLEEP = "Cloud Run decides when an idle instance stops";

/** Returns the capabilities of a platform with this configuration. */
export const gcpCapabilities = (config: GcpConfig): Capabilities => ({
  provider: "gcp",
  region: config.region,
  runs: offered(),
  isolation: "full",
  runner: "Cloud Run",
  resources: [...cloudRunSizes],
  // "determined by the lowest of the following relevant quota limits": docs.cloud.google.com/run/docs/configuring/max-instances-limits
  instances: { preset: 100, max: 1000, note: "limited by the region's CPU and memory quotas" },
  instance_list: missing("Cloud Run does not list the instances of a service"),
  scale_to_zero: offered("Cloud Run stops an idle instance within 15 minutes"),
  // https://docs.cloud.google.com/run/docs/configuring/min-instances
  min_instances: offered("Google bills these instances at a lower rate while they are idle"),
  // "Use HTTP/1": https://docs.cloud.google.com/run/docs/configuring/healthchecks
  health: {
    supported: true,
    note: "Cloud Run does not report the HTTP status of a failed check",
    ranges: probeRanges,
    http1_only: true,
  },
  idle: missing(OWN_SLEEP),
  busy_leases: missing(OWN_SLEEP),
  concurrency_cap: offered(),
  request_timeout: offered("the client gets 504; the instance continues the request"),
  session_affinity: offered(
    "by cookie, best effort; if the instance is full or has stopped, a different one serves the request",
  ),
  http2: offered(),
  memory_limit: offered("a service with mounts gets at least 512Mi"),
  cpu_limit: offered("with less than one CPU: one request at a time, and no mounts"),
  builders: {
    node: offered("Google's buildpacks"),
    python: offered("Google's buildpacks"),
    procfile: offered("Google's buildpacks, for the languages that they support"),
    dockerfile: offered(),
  },
  secrets: offered("in Secret Manager, in the region of the services"),
  releases: offered(`the last ${config.releasesKept} releases of a deployment, with their images`),
  names: { remembers_freed: missing("Cloud Run does not reserve the name of a deleted service") },
  domains: missing(
    "on Google Cloud, map the domain with a global external Application Load Balancer, with Firebase Hosting or, in some regions, with a domain mapping of Cloud Run (preview)",
  ),
  volumes: {
    mounts: offered("Cloud Storage FUSE: no file locks; the last write to a file wins"),
    store: offered(),
    read_only: offered(),
    flat_namespace: true,
    case_preserving: true,
    conditional_uploads: missing("Cloud Storage evaluates If-Match and If-None-Match on reads, not on uploads"),
    unsized_uploads: offered(),
    resumable_uploads: offered(),
    // Lifecycle rules act with a delay: https://docs.cloud.google.com/storage/docs/lifecycle
    incomplete_upload_hours: uploadHours + 24,
    head_downloads: offered(),
    cors: offered(),
    // Default TTL of gcsfuse's stat cache:
    // https://docs.cloud.google.com/run/docs/configuring/services/cloud-storage-volume-mounts
    visible_seconds: 60,
  },
  source_object: offered(),
  // The pages of Cloud Run's documentation differ on the longest startup probe. All of them allow this duration.
  deadlines: deadlinesIn({ ...cloudDeadlines, listenDeadlineMs: PROBE_SECONDS.period * 1000 }),
  cron: gcpCron,
  logs: gcpLogCapabilities(config),
  sql: { queries: gcpSqlQueries(config), lag_seconds: sqlLagSeconds },
  metrics: gcpMetrics,
  subscription: offered(),
});
