/** Capability records for tests of rules that depend on what a provider supports. */
import { memoryCapabilities } from "../../../adapters/memory/capabilities.ts";
import type { ResourceCatalogue } from "../../../core/domain/deploy/resources.ts";
import { type Capabilities, metricsWith, missing, offered } from "../../../core/domain/wire/capabilities.ts";

/** A provider that supports the whole contract. */
export const fullCapabilities: Capabilities = {
  ...memoryCapabilities,
  runs: offered(),
  volumes: { ...memoryCapabilities.volumes, mounts: offered(), store: offered() },
  source_object: offered(),
  cron: { schedules: offered(), fire: offered(), max_seconds: 1800 },
  logs: { ...memoryCapabilities.logs, since: offered(), query: offered() },
  sql: { queries: offered(), lag_seconds: 0 },
  subscription: offered(),
};

/** The same, with these sizes. */
export const capabilitiesWith = (catalogue: ResourceCatalogue): Capabilities => ({
  ...fullCapabilities,
  resources: [...catalogue],
});

/** A provider without any optional feature of a deploy; each has a distinct reason. */
export const minimalCapabilities: Capabilities = {
  ...fullCapabilities,
  session_affinity: missing("no affinity here"),
  http2: missing("no HTTP/2 here"),
  min_instances: missing("no minimum here"),
  health: missing("no health checks here"),
  idle: missing("no choice of idle here"),
  releases: missing("no releases here"),
  secrets: missing("no secrets here"),
  domains: missing("no domains here"),
  memory_limit: missing("no memory limit here"),
  cpu_limit: missing("no CPU limit here"),
  busy_leases: missing("no busy leases here"),
  concurrency_cap: missing("no cap here"),
  request_timeout: missing("no timeout here"),
  volumes: {
    ...fullCapabilities.volumes,
    mounts: missing("no mounts here"),
    store: missing("no store here"),
    read_only: missing("no read-only mounts here"),
  },
  source_object: missing("no source objects here"),
  cron: { schedules: missing("no schedules here"), fire: missing("no fires here"), max_seconds: 60 },
  sql: { queries: missing("no SQL here"), lag_seconds: 0 },
  metrics: metricsWith(missing("no metrics here"), 0),
  logs: { ...fullCapabilities.logs, since: missing("no cursors here"), query: missing("no filters here") },
};
