/** Divides a read quota, so that deploys, followers and searches cannot take each other's reads. */
import type { Clock } from "../../../core/ports/system.ts";
import { ReadLimiter } from "./read-limiter.ts";

export interface ReadQuota {
  /** For the last lines of failed deploys. */
  readonly deploys: ReadLimiter;
  readonly searches: ReadLimiter;
  /** Reads per minute for logs that clients follow; 0 if followers search like other clients. */
  readonly followsPerMinute: number;
}

/** Below this, a share would be empty. */
const MIN_DIVISIBLE = 6;

/** Deploys get a sixth, followers a half and searches the rest. Without followers, searches get their share too. */
export const divideQuota = (clock: Clock, perMinute: number, hasFollowers: boolean): ReadQuota => {
  if (perMinute < MIN_DIVISIBLE) {
    const all = new ReadLimiter(clock, perMinute);
    return { deploys: all, searches: all, followsPerMinute: 0 };
  }
  const deploys = Math.floor(perMinute / 6);
  const followsPerMinute = hasFollowers ? Math.floor(perMinute / 2) : 0;
  const searches = perMinute - deploys - followsPerMinute;
  return { deploys: new ReadLimiter(clock, deploys), searches: new ReadLimiter(clock, searches), followsPerMinute };
};
