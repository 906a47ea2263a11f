/** Chooses the runner: the configured one, or the best one that works on this machine. */
import { join } from "node:path";
import type { Logger } from "../../../core/ports/system.ts";
import { type Containers, openContainers } from "../containers/containers.ts";
import { findEngine } from "../containers/engine.ts";
import { createBubblewrapRunner } from "./bubblewrap.ts";
import { findControlGroups } from "./cgroup.ts";
import { killOrphans } from "./launch.ts";
import { Networks, whyNoNetworks } from "./network/networks.ts";
import { createProcessRunner } from "./process-runner.ts";
import type { Runner } from "./runner.ts";
import { newMark } from "./scope.ts";
import type { UidRange } from "./users/uid-range.ts";
import { Watchdog } from "./watchdog.ts";

export type RunnerChoice = "auto" | "container" | "bubblewrap" | "process";

export interface ChosenRunner {
  readonly runner: Runner;
  /** The mechanism that enforces the limits on memory, CPU and processes. */
  readonly limits: "cgroup" | "watchdog";
  /** Runs images built from a Dockerfile. A string is the reason why containers are unavailable. */
  readonly containers: Containers | string;
  /** The sandboxes' networks, or the reason why sandboxes share the machine's network. Undefined for other runners. */
  readonly networks: Networks | string | undefined;
  /** The reason why `auto` did not choose bubblewrap; undefined in all other cases. */
  readonly reason: string | undefined;
  /** The ids of the runner's jobs start with this mark and a dot. Jobs with other ids outlive `close`. */
  readonly mark: string;
  /**
   * Ends and removes everything in the scope that this runner has not started. The caller must ensure that no other
   * process uses the scope.
   */
  endOthers(): Promise<void>;
  /** Removes the runner's networks, groups and containers. The caller must have ended all jobs. */
  close(): Promise<void>;
}

export interface RunnerNeeds {
  /** Marks the runner's control groups, processes and containers. Stays the same after a restart. */
  readonly scope: string;
  /**
   * Returns false while another process owns the scope. The runner then treats no job as an orphan when it starts. When
   * it closes, it does not remove resources that runners of the scope share. Defaults to true.
   */
  readonly ownsScope?: () => boolean;
  /** Identifies the data folder to which images in the container engine belong. */
  readonly imageScope: string;
  /** Holds the runner's own files. */
  readonly folder: string;
  readonly uidRange: UidRange;
  /** The variables that locate the container engine. */
  readonly environment: NodeJS.ProcessEnv;
  readonly logger: Logger;
  /** Ports of the machine's loopback address that services may call from separate networks. */
  readonly allowedPorts: readonly number[];
}

/**
 * Sources without a Dockerfile run with this machine's own programs. A container engine in a virtual machine cannot
 * mount them.
 */
const ENGINE_NOT_LOCAL =
  "the container engine runs on another machine or in a virtual machine, so it can build and run only sources with a Dockerfile";

const findContainers = async (needs: RunnerNeeds, mark: string): Promise<Containers | string> => {
  const { folder, logger } = needs;
  const engine = await findEngine(needs.environment);
  if (typeof engine === "string") return engine;
  try {
    return await openContainers(engine, { ...needs, mark, folder: join(folder, "containers") });
  } catch (cause) {
    logger.warn("cannot use the container engine", { cause });
    return `${engine.name} fails to run containers (see the server's log)`;
  }
};

/** Throws if the configured runner does not work on this machine. */
export const chooseRunner = async (choice: RunnerChoice, needs: RunnerNeeds): Promise<ChosenRunner> => {
  const { scope, folder, uidRange, ownsScope = () => true } = needs;
  const mark = newMark(scope);
  const isOwn = (id: string) => id.startsWith(`${mark}.`);
  const groups = findControlGroups(`portside-${scope}`);
  const endProcesses = async () => {
    await killOrphans(scope, mark);
    await groups?.sweep((id) => !isOwn(id));
  };
  if (ownsScope()) await endProcesses();
  const containers = await findContainers(needs, mark);
  const watchdog = new Watchdog();
  let networks: Networks | undefined;
  const endOthers = async () => {
    await endProcesses();
    if (typeof containers !== "string") await containers.removeOthers();
  };
  const close = async () => {
    await networks?.close();
    await groups?.sweep(isOwn);
    if (ownsScope()) groups?.close();
    if (typeof containers !== "string") await containers.close();
  };
  const chosen = (runner: Runner, reason?: string): ChosenRunner => {
    const limits = runner.kind === "container" || groups !== undefined ? "cgroup" : "watchdog";
    return { runner, limits, containers, networks: undefined, reason, mark, endOthers, close };
  };
  if (choice === "process") return chosen(createProcessRunner(groups, watchdog));
  if (choice === "container") {
    if (typeof containers !== "string" && containers.engine.sharesKernel) return chosen(containers);
    const why = typeof containers === "string" ? containers : ENGINE_NOT_LOCAL;
    throw new Error(`The runner 'container' does not work on this machine: ${why}.`);
  }
  const why = await whyNoNetworks(mark);
  networks = why === undefined ? new Networks(mark, needs.allowedPorts, needs.logger) : undefined;
  const sandbox = createBubblewrapRunner(folder, groups, watchdog, uidRange.from, networks);
  if (typeof sandbox !== "string") return { ...chosen(sandbox), networks: networks ?? why };
  if (choice === "bubblewrap") throw new Error(`The runner 'bubblewrap' does not work on this machine: ${sandbox}.`);
  // Containers start more slowly than plain processes, but isolate services from each other.
  if (typeof containers !== "string" && containers.engine.sharesKernel) return chosen(containers, sandbox);
  return chosen(createProcessRunner(groups, watchdog), sandbox);
};
