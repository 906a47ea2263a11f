/** The current and the peak memory of this process. */
import { readFileSync } from "node:fs";

export interface MemoryUse {
  /** Resident bytes. */
  readonly now: number;
  readonly peak: number;
}

const field = (status: string, name: string): number =>
  Number(new RegExp(`^${name}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0) * 1024;

/** Of any process, from Linux's /proc; zeros elsewhere. */
export const processMemory = (pid: number | "self"): MemoryUse => {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return { now: field(status, "VmRSS"), peak: field(status, "VmHWM") };
  } catch {
    return { now: 0, peak: 0 };
  }
};

/** From Linux's /proc if available: elsewhere a child inherits its parent's peak. */
const peakOf = (): number => processMemory("self").peak || process.resourceUsage().maxRSS * 1024;

export const memoryUse = (): MemoryUse => ({ now: process.memoryUsage.rss(), peak: peakOf() });
