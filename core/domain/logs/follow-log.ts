/**
 * The rule for following a log: when to read the next page. The commands, the control plane and `portside/client` share
 * it, so this file imports nothing at run time.
 */
import type { LogPage } from "./entry.ts";

/** Seconds for which the platform should wait for an entry. Shorter than the idle timeouts of most proxies. */
export const WAIT_SECONDS = 20;

/**
 * Returns a page of up to `limit` entries, or undefined if the platform does not respond. The request should have
 * `wait: WAIT_SECONDS`.
 */
export type ReadPage = (since: string | undefined) => Promise<LogPage | undefined>;

export interface FollowOptions {
  /** The cursor or time to start from. Undefined starts with the newest entries. */
  readonly since: string | undefined;
  /** The maximum number of entries per page. */
  readonly limit: number;
  readonly signal: AbortSignal;
  /** Returns the time in milliseconds. */
  readonly now: () => number;
  /** Called after a period without entries, and repeatedly while the log stays quiet. */
  readonly onIdle?: () => Promise<void>;
  /** Waits `millis` milliseconds or until the signal aborts. Must not reject. */
  readonly wait: (millis: number, signal: AbortSignal) => Promise<unknown>;
}

/**
 * The pause after a page that reached the end of the log, while entries arrive. It delays an entry by at most 200 ms. A
 * follower that has caught up sends at most five requests per second. No pause follows a full or partial page.
 */
const PAUSE_MS = 200;
/** The pause between pages of a quiet log, and between retries while the platform does not respond. */
const QUIET_MS = 1000;
const IDLE_MS = 10_000;
const IDLE_AGAIN_MS = 60_000;

/** Returns the milliseconds to pause after `idle` milliseconds without an entry. The pause grows after ten seconds. */
export const pauseAfter = (idle: number): number => Math.min(QUIET_MS, Math.max(PAUSE_MS, idle / (IDLE_MS / PAUSE_MS)));

/** Yields each entry once, in order, until the signal aborts. */
export async function* followLog(read: ReadPage, options: FollowOptions): AsyncGenerator<LogPage["logs"][number]> {
  const { limit, signal, now, onIdle, wait } = options;
  let { since } = options;
  let idle = 0;
  let reportAt = IDLE_MS;
  while (!signal.aborted) {
    const begun = now();
    const page = await read(since);
    if (signal.aborted) return;
    // The platform waits for an entry, so a page without entries may take a long time. This time counts towards the
    // pause.
    const waited = now() - begun;
    if (page !== undefined) {
      since = page.cursor;
      yield* page.logs;
      if (page.logs.length > 0) [idle, reportAt] = [0, IDLE_MS];
      else idle += waited;
      if (page.logs.length === limit || page.partial) continue;
    }
    if (idle >= reportAt) {
      reportAt = idle + IDLE_AGAIN_MS;
      await onIdle?.();
    }
    const quiet = page?.logs.length === 0 ? Math.max(0, pauseAfter(idle) - waited) : pauseAfter(idle);
    const pause = page === undefined ? QUIET_MS : Math.max(quiet, page.pollAfterMs ?? 0);
    await wait(pause, signal);
    idle += pause;
  }
}
