/** A deployment's log as it comes: page after page along the cursor, each entry once, through restarts of the server. */
import { setTimeout as sleep } from "node:timers/promises";
import { fieldLimits } from "../../../core/domain/accounts/limits.ts";
import type { LogPage } from "../../../core/domain/logs/entry.ts";

export type LogRow = LogPage["logs"][number];

/** Entries to ask for at once: as many as a page has at most. */
export const LOG_PAGE = fieldLimits.logs.max;

/** A page of up to `LOG_PAGE`, or undefined where the platform does not answer just now. */
export type ReadPage = (since: string | undefined) => Promise<LogPage | undefined>;

export interface FollowOptions {
  /** Where to begin; absent: with the newest entries. */
  readonly since: string | undefined;
  readonly signal: AbortSignal;
  /** Called where nothing has come for a while, and now and then while that goes on. */
  readonly onIdle?: () => Promise<void>;
  /** Waits so many milliseconds, or until the signal; tests have their own. */
  readonly wait?: (millis: number, signal: AbortSignal) => Promise<unknown>;
}

/** Between two pages while entries come: what an entry waits for at most, and five requests a second. */
const PAUSE_MS = 200;
/** Between two pages of a log that has long been quiet, and two tries of a platform that does not answer. */
const QUIET_MS = 1000;
const IDLE_MS = 10_000;
const IDLE_AGAIN_MS = 60_000;

/** The pause before the next page, after so many milliseconds without an entry: it grows from ten seconds on. */
export const pauseAfter = (idle: number): number => Math.min(QUIET_MS, Math.max(PAUSE_MS, idle / (IDLE_MS / PAUSE_MS)));

const waitFor = (millis: number, signal: AbortSignal): Promise<unknown> =>
  sleep(millis, undefined, { signal }).catch(() => undefined);

export async function* followLog(read: ReadPage, options: FollowOptions): AsyncGenerator<LogRow> {
  const { signal, onIdle, wait = waitFor } = options;
  let { since } = options;
  let idle = 0;
  let told = IDLE_MS;
  while (!signal.aborted) {
    const page = await read(since);
    if (signal.aborted) return;
    if (page !== undefined) {
      since = page.cursor;
      yield* page.logs;
      if (page.logs.length > 0) [idle, told] = [0, IDLE_MS];
      if (page.logs.length === LOG_PAGE || page.partial) continue;
    }
    if (idle >= told) {
      told = idle + IDLE_AGAIN_MS;
      await onIdle?.();
    }
    const pause = page === undefined ? QUIET_MS : pauseAfter(idle);
    await wait(pause, signal);
    idle += pause;
  }
}
