/** Polls for conditions without an event, such as the end of a process. */
import { readFileSync } from "node:fs";
import { vi } from "vitest";

/** Calls `look` until it does not throw. Fails after a minute, which is enough on any machine. */
export const eventually = <T>(look: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(look, { timeout: 60_000, interval: 25 });

/** True while a process runs; false for a zombie. */
export const isAlive = (pid: number): boolean => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !["Z", "X"].includes(stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3));
  } catch {
    return false;
  }
};
