/** Which runner this machine gets: the best that works, or the one that was asked for. */
import { createBubblewrapRunner } from "./bubblewrap.ts";
import { type ControlGroups, findControlGroups } from "./cgroup.ts";
import { killOrphans } from "./launch.ts";
import { createProcessRunner } from "./process.ts";
import type { Runner } from "./runner.ts";
import { Watchdog } from "./watchdog.ts";

export type RunnerChoice = "auto" | "bubblewrap" | "process";

export interface ChosenRunner {
  readonly runner: Runner;
  /** How memory, CPU and processes are held to their limits. */
  readonly limits: "cgroup" | "watchdog";
  /** Why the better runner was not taken; undefined where it was, or the plain one was asked for. */
  readonly reason: string | undefined;
  /** Takes away what the machine was given for the runner's sake; its jobs have ended. */
  close(): Promise<void>;
}

/**
 * @param scope names this server's groups and marks; the same after a restart
 * @param folder for the runner's own files
 */
export const chooseRunner = async (choice: RunnerChoice, scope: string, folder: string): Promise<ChosenRunner> => {
  const groups: ControlGroups | undefined = findControlGroups(`portside-${scope}`);
  await killOrphans(scope);
  await groups?.sweep();
  const watchdog = new Watchdog();
  const limits = groups === undefined ? "watchdog" : "cgroup";
  const close = async () => groups?.sweep();
  const chosen = (runner: Runner, reason?: string) => ({ runner, limits, reason, close }) as const;
  if (choice === "process") return chosen(createProcessRunner(groups, watchdog));
  const sandbox = createBubblewrapRunner(folder, groups, watchdog);
  if (typeof sandbox !== "string") return chosen(sandbox);
  if (choice === "bubblewrap") throw new Error(`The runner 'bubblewrap' was asked for, but ${sandbox}.`);
  return chosen(createProcessRunner(groups, watchdog), sandbox);
};
