/** Lowers the priority of long-running work, such as builds and SQL queries, below that of services and the API. */
import { constants, getPriority, setPriority } from "node:os";

/** On a busy machine, the work still gets about a third of the CPU time of a service, so that it can finish. */
const NICE = 5;

/** The weight of the work's control group, as a fraction of the default weight. */
export const LOW_WEIGHT = 0.25;

const lowerThan = (priority: number): number => Math.min(constants.priority.PRIORITY_LOW, priority + NICE);

/**
 * Lowers the priority of a process, and of the processes and threads that it starts later. Throws if the process has
 * ended.
 */
export const lowerPriority = (pid: number): void => setPriority(pid, lowerThan(getPriority(pid)));

/**
 * Gives the calling thread a lower priority than the main thread. Only Linux has priorities for threads. On other
 * systems, does nothing.
 */
export const lowerThreadPriority = (): void => {
  if (process.platform === "linux") setPriority(lowerThan(getPriority(process.pid)));
};
