/**
 * The memory provider's capabilities. The provider simulates Cloud Run's sizes, so that tests can check the rules about
 * sizes on any machine.
 */
import { deployLimits, uploadHours } from "../../core/domain/accounts/limits.ts";
import { type Capabilities, deadlinesIn, metricsWith, missing, offered } from "../../core/domain/wire/capabilities.ts";
import { cloudRunSizes } from "../shared/deploy/cloud-run-sizes.ts";
import { sqlQueries } from "../shared/sql/process/installed.ts";

const simulated = missing("the memory provider simulates services; nothing runs");

export const memoryCapabilities: Capabilities = {
  provider: "memory",
  region: "memory",
  runs: simulated,
  isolation: "full",
  runner: "none: services are simulated",
  resources: [...cloudRunSizes],
  instances: { preset: 100, max: 1000 },
  instance_list: offered("always empty, because no instance runs"),
  scale_to_zero: offered(),
  min_instances: offered("stored, but has no effect"),
  health: offered("stored, but has no effect"),
  idle: offered("stored, but has no effect"),
  busy_leases: simulated,
  concurrency_cap: offered(),
  request_timeout: offered(),
  session_affinity: offered(),
  http2: offered(),
  memory_limit: offered(),
  cpu_limit: offered(),
  builders: { node: offered(), python: offered(), procfile: offered(), dockerfile: offered() },
  names: { remembers_freed: offered() },
  releases: offered("the last 10 releases of a deployment"),
  secrets: offered("stores only digests, because nothing runs"),
  domains: offered("checked against a simulated DNS; no certificates are issued"),
  volumes: {
    mounts: offered(),
    store: offered(),
    read_only: offered(),
    flat_namespace: true,
    case_preserving: true,
    conditional_uploads: offered(),
    unsized_uploads: offered(),
    resumable_uploads: offered(),
    incomplete_upload_hours: uploadHours,
    head_downloads: offered(),
    cors: offered(),
    visible_seconds: 0,
  },
  source_object: offered(),
  deadlines: deadlinesIn(deployLimits),
  cron: {
    schedules: offered("schedules are stored but never fire"),
    fire: offered("without a response, because no service runs"),
    max_seconds: 1800,
  },
  logs: {
    newest: offered(),
    since: offered(),
    query: offered(),
    descending: offered(),
    histogram: offered(),
    values: offered(),
    settle_seconds: 0,
    retention_days: 30,
  },
  sql: { queries: sqlQueries(), lag_seconds: 0 },
  metrics: metricsWith(offered("only the activity that a test adds"), 7),
  subscription: offered(),
};
