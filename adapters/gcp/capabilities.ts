/** Capabilities of this provider, with reasons: Cloud Run's sizes and limits, and those of other Google Cloud services. */

import { cloudDeadlines } from "../../core/domain/accounts/limits.ts";
import { type Capabilities, deadlinesIn, missing, offered } from "../../core/domain/wire/capabilities.ts";
import { cloudRunSizes } from "../shared/deploy/cloud-run-sizes.ts";
import type { GcpConfig } from "./config.ts";
import { gcpLogCapabilities } from "./logs/capabilities.ts";
import { gcpCron } from "./schedules/capabilities.ts";
import { gcpSqlQueries, sqlLagSeconds } from "./sql/index.ts";

export const gcpCapabilities = (config: GcpConfig): Capabilities => ({
  provider: "gcp",
  region: config.region,
  runs: offered(),
  isolation: "full",
  runner: "Cloud Run",
  resources: [...cloudRunSizes],
  instances: { preset: 100, max: 1000 },
  scale_to_zero: offered("when Cloud Run finds an instance idle, within 15 minutes"),
  concurrency_cap: offered(),
  request_timeout: offered("the client gets 504; the instance goes on with the request"),
  session_affinity: offered("by cookie, best effort; an instance that is full or gone is replaced by another"),
  http2: offered(),
  memory_limit: offered("a service with mounts gets at least 512Mi"),
  cpu_limit: offered(),
  builders: {
    node: offered("Google's buildpacks"),
    python: offered("Google's buildpacks"),
    procfile: offered("Google's buildpacks; for the languages that they know"),
    dockerfile: offered(),
  },
  names: { remembers_freed: missing("Cloud Run forgets the name of a service that is deleted") },
  volumes: {
    mounts: offered("Cloud Storage FUSE: no file locks, and the last writer of a file wins"),
    store: offered(),
    read_only: offered(),
    flat_namespace: true,
    case_preserving: true,
    conditional_uploads: missing(
      "Cloud Storage holds to If-Match and If-None-Match where data is read, not in uploads",
    ),
    unsized_uploads: offered(),
    head_downloads: offered(),
    // gcsfuse's stat cache TTL on Cloud Run: .../configuring/services/cloud-storage-volume-mounts
    visible_seconds: 60,
  },
  source_object: offered(),
  deadlines: deadlinesIn(cloudDeadlines),
  cron: gcpCron,
  logs: gcpLogCapabilities(config),
  sql: { queries: gcpSqlQueries(config), lag_seconds: sqlLagSeconds },
  subscription: offered(),
});
