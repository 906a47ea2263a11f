/** Which runner this machine gets: the best that works, or the one that was asked for. */
import { join } from "node:path";
import type { Logger } from "../../../core/ports/system.ts";
import { type Containers, openContainers } from "../containers/containers.ts";
import { findEngine } from "../containers/engine.ts";
import { createBubblewrapRunner } from "./bubblewrap.ts";
import { type ControlGroups, findControlGroups } from "./cgroup.ts";
import { killOrphans } from "./launch.ts";
import { Networks, whyNoNetworks } from "./network/networks.ts";
import { createProcessRunner } from "./process.ts";
import type { Runner } from "./runner.ts";
import type { UidRange } from "./users/uid-range.ts";
import { Watchdog } from "./watchdog.ts";

export type RunnerChoice = "auto" | "container" | "bubblewrap" | "process";

export interface ChosenRunner {
  readonly runner: Runner;
  /** How memory, CPU and processes are held to their limits. */
  readonly limits: "cgroup" | "watchdog";
  /** Runs what was built from a Dockerfile; or in words why nothing does. */
  readonly containers: Containers | string;
  /** The networks of sandboxes, or why they have that of the machine; undefined for the other runners. */
  readonly networks: Networks | string | undefined;
  /** Why the better runner was not taken; undefined where it was, or the plain one was asked for. */
  readonly reason: string | undefined;
  /** Takes away what the machine was given for the runner's sake; its jobs have ended. */
  close(): Promise<void>;
}

export interface RunnerNeeds {
  /** Names this server's groups, marks and containers; the same after a restart. */
  readonly scope: string;
  /** For the runner's own files. */
  readonly folder: string;
  /** The uids for accounts. */
  readonly uidRange: UidRange;
  /** In which the container engine is looked for. */
  readonly environment: NodeJS.ProcessEnv;
  readonly logger: Logger;
  /** Ports of the machine's loopback that services may call from networks of their own. */
  readonly allowedPorts: readonly number[];
}

/** Sources without a Dockerfile run with this machine's own programs, which a virtual machine's engine does not see. */
const ELSEWHERE = "the engine runs on another machine or a virtual one; it builds and runs sources with a Dockerfile";

const findContainers = async ({
  scope,
  folder,
  environment,
  logger,
  allowedPorts,
}: RunnerNeeds): Promise<Containers | string> => {
  const engine = await findEngine(environment);
  if (typeof engine === "string") return engine;
  try {
    return await openContainers(engine, scope, join(folder, "containers"), logger, allowedPorts);
  } catch (cause) {
    logger.warn("the container engine cannot be used", { cause });
    return `${engine.name} does not do what is asked of it`;
  }
};

/** Throws where the runner that was asked for does not work here. */
export const chooseRunner = async (choice: RunnerChoice, needs: RunnerNeeds): Promise<ChosenRunner> => {
  const { scope, folder, uidRange } = needs;
  const groups: ControlGroups | undefined = findControlGroups(`portside-${scope}`);
  await killOrphans(scope);
  await groups?.sweep();
  const containers = await findContainers(needs);
  const watchdog = new Watchdog();
  let networks: Networks | undefined;
  const close = async () => {
    await networks?.close();
    await groups?.sweep();
    if (typeof containers !== "string") await containers.close();
  };
  const chosen = (runner: Runner, reason?: string): ChosenRunner => {
    const limits = runner.kind === "container" || groups !== undefined ? "cgroup" : "watchdog";
    return { runner, limits, containers, networks: undefined, reason, close };
  };
  if (choice === "process") return chosen(createProcessRunner(groups, watchdog));
  if (choice === "container") {
    const why = typeof containers === "string" ? containers : containers.engine.sharesKernel ? undefined : ELSEWHERE;
    if (why !== undefined || typeof containers === "string")
      throw new Error(`The runner 'container' was asked for, but ${why}.`);
    return chosen(containers);
  }
  const why = await whyNoNetworks(scope);
  networks = why === undefined ? new Networks(scope, needs.allowedPorts, needs.logger) : undefined;
  const sandbox = createBubblewrapRunner(folder, groups, watchdog, uidRange.from, networks);
  if (typeof sandbox !== "string") return { ...chosen(sandbox), networks: networks ?? why };
  if (choice === "bubblewrap") throw new Error(`The runner 'bubblewrap' was asked for, but ${sandbox}.`);
  // Slower to start, but neighbours are kept apart.
  if (typeof containers !== "string" && containers.engine.sharesKernel) return chosen(containers, sandbox);
  return chosen(createProcessRunner(groups, watchdog), sandbox);
};
