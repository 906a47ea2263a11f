/** What the local engine can do on this machine, said with reasons. */
import { availableParallelism, totalmem } from "node:os";
import { deployLimits, MiB } from "../../core/domain/accounts/limits.ts";
import { type Capabilities, deadlinesIn, type Feature, missing, offered } from "../../core/domain/wire/capabilities.ts";
import { sqlQueries } from "../shared/sql/process/installed.ts";
import type { Toolchain } from "./builds/toolchain.ts";
import type { LocalConfig } from "./config.ts";
import type { ChosenRunner } from "./sandbox/choose-runner.ts";

type Chosen = Omit<ChosenRunner, "close">;

/** The longest run of a fire: what the clouds' schedulers allow, so that what works here works there. */
export const LONGEST_FIRE_SECONDS = 1800;

/** What of the machine's network a sandbox reaches. */
const sandboxNetwork = (networks: Chosen["networks"]): string =>
  typeof networks === "object"
    ? "with separate networks"
    : `on the machine's network (${networks}): services can call each other's ports and every port of this machine, and listen on any free one`;

const formatRunner = ({ runner, limits, containers, networks, reason }: Chosen): string => {
  const held = limits === "cgroup" ? "limits by control groups" : "limits by watching";
  const dockerfiles = typeof containers === "string" ? "" : `; what has a Dockerfile runs in ${containers.engine.name}`;
  if (runner.kind === "container")
    return `containers${typeof containers === "string" ? "" : ` (${containers.engine.name})`}`;
  const users =
    runner.setsUser === true ? "each account has a separate user" : `all services run as one user: ${runner.setsUser}`;
  return runner.kind === "bubblewrap"
    ? `bubblewrap sandboxes ${sandboxNetwork(networks)}; ${users}; ${held}${dockerfiles}`
    : `plain processes, ${held}; neighbours are not isolated${reason === undefined ? "" : `: ${reason}`}${dockerfiles}`;
};

const memoryLimit = ({ limits }: Chosen): Feature =>
  limits === "cgroup" ? offered() : offered("looked at every 100 ms; a service may pass its limit for a moment");

const cpuLimit = ({ limits }: Chosen): Feature =>
  limits === "cgroup"
    ? offered()
    : missing("without control groups (they need root) the machine's CPUs are shared evenly");

const mounts = ({ runner }: Chosen): Feature => {
  if (runner.kind === "process")
    return offered(
      "by PORTSIDE_MOUNTS in the environment, and by a symbolic link at the path where this user may make one",
    );
  return runner.mountsFolders ? offered() : missing("this machine's bubblewrap has no --bind-fd; install a newer one");
};

/** Between services that were built without a Dockerfile; those with one are kept apart by their engine in any case. */
const isolationOf = ({ runner: { kind, ownNetwork } }: Chosen): Capabilities["isolation"] => {
  if (kind === "process") return "none";
  return kind === "container" || ownNetwork ? "full" : "filesystem";
};

const dockerfiles = ({ containers }: Chosen): Feature =>
  typeof containers === "string"
    ? missing(`this machine has no container engine: ${containers}`)
    : offered(`by ${containers.engine.name} ${containers.engine.version}`);

/** Any whole number of CPUs up to the larger of 8 and the machine's, and memory up to the machine's. */
const sizes = (): Capabilities["resources"] => {
  const most = Math.max(8, availableParallelism());
  const memory = { min: 128 * MiB, max: Math.floor(totalmem() / MiB) * MiB, step: 1 };
  return Array.from({ length: most }, (_, index) => ({ cpu: index + 1, memory }));
};

export const localCapabilities = (config: LocalConfig, chosen: Chosen, toolchain: Toolchain): Capabilities => ({
  provider: "local",
  region: "local",
  runs: offered(),
  isolation: isolationOf(chosen),
  runner: formatRunner(chosen),
  resources: sizes(),
  instances: { preset: config.maxInstances, max: 1000 },
  scale_to_zero: offered(`after ${config.idleSeconds} s without a request`),
  concurrency_cap: offered(),
  request_timeout: offered(),
  session_affinity: offered("by cookie; an instance that is full or gone is replaced by another"),
  http2: offered(),
  memory_limit: memoryLimit(chosen),
  cpu_limit: cpuLimit(chosen),
  builders: {
    node: toolchain.npm === undefined ? offered("without dependencies: this machine has no npm") : offered(),
    python: toolchain.python === undefined ? missing("this machine has no python3") : offered(),
    procfile: offered(),
    dockerfile: dockerfiles(chosen),
  },
  names: { remembers_freed: offered() },
  volumes: {
    mounts: mounts(chosen),
    store: offered(),
    read_only:
      chosen.runner.kind === "process"
        ? missing("plain processes of one user can write what that user can")
        : offered(),
    flat_namespace: false,
    case_preserving: process.platform === "linux",
    conditional_uploads: offered(),
    unsized_uploads: offered(),
    head_downloads: offered(),
    visible_seconds: 0,
  },
  source_object: offered(),
  deadlines: deadlinesIn(deployLimits),
  cron: { schedules: offered(), max_seconds: LONGEST_FIRE_SECONDS },
  logs: {
    newest: offered(),
    since: offered(),
    query: offered(),
    settle_seconds: 0,
    retention_days: config.logRetentionDays,
  },
  sql: { queries: sqlQueries(), lag_seconds: 0 },
  subscription: offered(),
});
