/** How much memory this process holds, and the most it has held. */
import { readFileSync } from "node:fs";

export interface MemoryUse {
  /** Resident bytes. */
  readonly now: number;
  readonly peak: number;
}

/** Of Linux's own account where there is one: elsewhere a child inherits its parent's peak. */
const peakOf = (): number => {
  try {
    const line = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"));
    if (line !== null) return Number(line[1]) * 1024;
  } catch {
    // Not Linux.
  }
  return process.resourceUsage().maxRSS * 1024;
};

export const memoryUse = (): MemoryUse => ({ now: process.memoryUsage.rss(), peak: peakOf() });
