/** Waiting for what no event tells, such as the end of a process. */
import { readFileSync } from "node:fs";
import { vi } from "vitest";

/** Asks again until the assertions hold; long enough for any machine. */
export const eventually = <T>(look: () => T | Promise<T>): Promise<T> =>
  vi.waitFor(look, { timeout: 60_000, interval: 25 });

/** True while a process runs; one that only waits to be collected does not. */
export const isAlive = (pid: number): boolean => {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return !["Z", "X"].includes(stat.slice(stat.lastIndexOf(")") + 2, stat.lastIndexOf(")") + 3));
  } catch {
    return false;
  }
};
