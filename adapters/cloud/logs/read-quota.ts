/** Divides a read quota among deploys, followers and searches, so that none of them exhausts the others' shares. */
import type { Clock } from "../../../core/ports/system.ts";
import { ReadLimiter } from "./read-limiter.ts";

export interface ReadQuota {
  /** For the last lines of failed deploys. */
  readonly deploys: ReadLimiter;
  readonly searches: ReadLimiter;
  /** Reads per minute for logs that clients follow; 0 if the quota is not divided. Followers then use searches. */
  readonly followsPerMinute: number;
}

/** The parts of a quota. Searches get the remaining parts. */
export interface QuotaShares {
  readonly parts: number;
  readonly deploys: number;
  readonly followers: number;
  /** True if the cloud limits the calls of each second. */
  readonly isPerSecond: boolean;
}

/** Divides the reads per minute. Does not divide a quota below `parts` reads, because a share would be empty. */
export const divideQuota = (clock: Clock, perMinute: number, shares: QuotaShares): ReadQuota => {
  const limiter = (reads: number) =>
    new ReadLimiter(clock, reads, shares.isPerSecond ? Math.ceil(reads / 60) : undefined);
  if (perMinute < shares.parts) {
    const all = new ReadLimiter(clock, perMinute);
    return { deploys: all, searches: all, followsPerMinute: 0 };
  }
  const deploys = Math.floor((perMinute * shares.deploys) / shares.parts);
  const followsPerMinute = Math.floor((perMinute * shares.followers) / shares.parts);
  return { deploys: limiter(deploys), searches: limiter(perMinute - deploys - followsPerMinute), followsPerMinute };
};
