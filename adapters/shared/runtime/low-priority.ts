/** Lowers the priority of long-running work, such as builds and SQL queries, below that of services and the API. */
import { readFileSync, writeFileSync } from "node:fs";
import { constants, getPriority, setPriority } from "node:os";

/** On a busy machine, the work still gets about a third of the CPU time of a service, so that it can finish. */
const NICE = 5;

/** The weight of the work's control group, as a fraction of the default weight. */
export const LOW_WEIGHT = 0.25;

/**
 * The kernel accepts only one write to `autogroup` per 100 ms from all unprivileged processes of a machine:
 * https://github.com/torvalds/linux/blob/v6.12/kernel/sched/autogroup.c
 */
const RETRY_MS = 100;
const TRIES = 100;

const lowerThan = (priority: number): number => Math.min(constants.priority.PRIORITY_LOW, priority + NICE);

/** Returns whether the process started its session. https://man7.org/linux/man-pages/man5/proc_pid_stat.5.html */
const leadsSession = (pid: number): boolean => {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  // The fields after the name are: state, parent, process group, session.
  const [, , , session] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return session === String(pid);
};

/**
 * Lowers the weight of the session that the process started, if any. Does nothing without autogroups, or if the process
 * has ended.
 */
const lowerSession = (pid: number, priority: number, tries: number): void => {
  try {
    if (leadsSession(pid)) writeFileSync(`/proc/${pid}/autogroup`, String(priority));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EAGAIN" || tries === 1) return;
    // The delay is random, because other processes also retry.
    setTimeout(() => lowerSession(pid, priority, tries - 1), RETRY_MS * (1 + Math.random())).unref();
  }
};

/**
 * Lowers the priority of a process, and of the processes and threads that it starts later. Throws if the process has
 * ended.
 *
 * With autogroups, Linux compares nice values only within a session, and distributes the CPU time among sessions and
 * control groups by their own weights. Therefore, also lowers the weight of a session that the process started.
 * https://man7.org/linux/man-pages/man7/sched.7.html
 */
export const lowerPriority = (pid: number): void => {
  const priority = lowerThan(getPriority(pid));
  setPriority(pid, priority);
  if (process.platform === "linux") lowerSession(pid, priority, TRIES);
};

/**
 * Gives the calling thread a lower priority than the main thread. Only Linux has priorities for threads. On other
 * systems, does nothing.
 */
export const lowerThreadPriority = (): void => {
  if (process.platform === "linux") setPriority(lowerThan(getPriority(process.pid)));
};
