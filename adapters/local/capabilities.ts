/** The capabilities of the local provider on this machine, with reasons. */
import { availableParallelism, totalmem } from "node:os";
import { deployLimits, MiB, uploadHours } from "../../core/domain/accounts/limits.ts";
import type { DomainTarget } from "../../core/domain/domains/dns-records.ts";
import {
  type Capabilities,
  deadlinesIn,
  type Feature,
  metricsWith,
  missing,
  offered,
} from "../../core/domain/wire/capabilities.ts";
import { sqlQueries } from "../shared/sql/process/installed.ts";
import type { Toolchain } from "./builds/toolchain.ts";
import type { LocalConfig } from "./config.ts";
import { domainsFeature } from "./domains/settings.ts";
import type { ChosenRunner } from "./sandbox/choose-runner.ts";
import { METRIC_DAYS } from "./usage/rollups.ts";

type Chosen = Omit<ChosenRunner, "mark" | "endOthers" | "close">;

/**
 * The maximum duration of one attempt of a run. Equals Cloud Scheduler's limit, so services can move to Google Cloud.
 */
export const MAX_FIRE_SECONDS = 1800;

const sandboxNetwork = (networks: Chosen["networks"]): string =>
  typeof networks === "object"
    ? "with separate networks"
    : `on the machine's network (${networks}): services can call each other's ports and all other ports of this machine, and can listen on any free port`;

const formatRunner = ({ runner, limits, containers, networks, reason }: Chosen): string => {
  const held = limits === "cgroup" ? "resource limits by control groups" : "a memory limit by polling";
  const dockerfiles =
    typeof containers === "string" ? "" : `; sources with a Dockerfile run in ${containers.engine.name}`;
  if (runner.kind === "container")
    return `containers${typeof containers === "string" ? "" : ` (${containers.engine.name})`}`;
  const users =
    runner.setsUser === true ? "each account has a separate user" : `all services run as one user: ${runner.setsUser}`;
  return runner.kind === "bubblewrap"
    ? `bubblewrap sandboxes ${sandboxNetwork(networks)}; ${users}; ${held}${dockerfiles}`
    : `plain processes, ${held}; services are not isolated from each other${reason === undefined ? "" : `: ${reason}`}${dockerfiles}`;
};

const memoryLimit = ({ limits }: Chosen): Feature =>
  limits === "cgroup" ? offered() : offered("polled every 100 ms; a service may exceed its limit briefly");

const cpuLimit = ({ limits }: Chosen): Feature =>
  limits === "cgroup"
    ? offered()
    : missing(
        "without control groups, which need root or a delegated group, all services share the machine's CPUs evenly",
      );

const mounts = ({ runner }: Chosen): Feature => {
  if (runner.kind === "process")
    return offered(
      "through the variable PORTSIDE_MOUNTS, and through a symbolic link at the path if this user may create one",
    );
  return runner.mountsFolders ? offered() : missing("this machine's bubblewrap has no --bind-fd; install a newer one");
};

/** The isolation of services without a Dockerfile. The container engine isolates services with a Dockerfile. */
const isolationOf = ({ runner: { kind, ownNetwork } }: Chosen): Capabilities["isolation"] => {
  if (kind === "process") return "none";
  return kind === "container" || ownNetwork ? "full" : "filesystem";
};

const dockerfiles = ({ containers }: Chosen): Feature =>
  typeof containers === "string"
    ? missing(`this machine has no container engine: ${containers}`)
    : offered(`by ${containers.engine.name} ${containers.engine.version}`);

/** Allows up to 8 CPUs, or more if the machine has more, and memory up to the machine's total. */
const sizes = (): Capabilities["resources"] => {
  const maxCpu = Math.max(8, availableParallelism());
  const memory = { min: 128 * MiB, max: Math.floor(totalmem() / MiB) * MiB, step: 1 };
  return Array.from({ length: maxCpu }, (_, index) => ({ cpu: index + 1, memory }));
};

export const localCapabilities = (
  config: LocalConfig,
  chosen: Chosen,
  toolchain: Toolchain,
  target: DomainTarget,
): Capabilities => ({
  provider: "local",
  region: "local",
  runs: offered(),
  isolation: isolationOf(chosen),
  runner: formatRunner(chosen),
  resources: sizes(),
  instances: { preset: config.maxInstances, max: 1000 },
  instance_list: offered(),
  scale_to_zero: offered(
    config.idle === "stop"
      ? `after ${config.idleSeconds} s without a request`
      : `after ${config.stopAfterSeconds} s without a request; frozen after ${config.idleSeconds} s`,
  ),
  min_instances: offered(),
  health: offered(),
  idle: offered(),
  busy_leases: offered("through the socket in PORTSIDE_BUSY_SOCKET"),
  concurrency_cap: offered(),
  request_timeout: offered(),
  session_affinity: offered("by cookie; another instance serves the request if that instance is full or has stopped"),
  http2: offered(),
  memory_limit: memoryLimit(chosen),
  cpu_limit: cpuLimit(chosen),
  builders: {
    node: toolchain.npm === undefined ? offered("without dependencies, because npm is not installed") : offered(),
    python: toolchain.python === undefined ? missing("python3 is not installed") : offered(),
    procfile: offered(),
    dockerfile: dockerfiles(chosen),
  },
  names: { remembers_freed: offered() },
  domains: domainsFeature(config, target),
  secrets: offered("encrypted in the data folder, with a key in a separate file"),
  releases: offered(`with the images of the last ${config.releasesKept} releases of a deployment`),
  volumes: {
    mounts: mounts(chosen),
    store: offered(),
    read_only:
      chosen.runner.kind === "process"
        ? missing("plain processes have the write permissions of the platform's user")
        : offered(),
    flat_namespace: false,
    case_preserving: process.platform === "linux",
    conditional_uploads: offered(),
    unsized_uploads: offered(),
    resumable_uploads: offered(),
    // The engine deletes expired uploads every hour.
    incomplete_upload_hours: uploadHours + 1,
    head_downloads: offered(),
    cors: offered(),
    visible_seconds: 0,
  },
  source_object: offered(),
  deadlines: deadlinesIn(deployLimits),
  cron: { schedules: offered(), fire: offered(), max_seconds: MAX_FIRE_SECONDS },
  logs: {
    newest: offered(),
    since: offered(),
    query: offered(),
    descending: offered(),
    histogram: offered(),
    values: offered(),
    settle_seconds: 0,
    retention_days: config.logRetentionDays,
  },
  sql: { queries: sqlQueries(), lag_seconds: 0 },
  metrics: metricsWith(offered(), METRIC_DAYS),
  subscription: offered(),
});
