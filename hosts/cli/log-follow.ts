/** A deployment's log as it comes: page after page along the cursor, each entry once, through restarts of the server. */
import { setTimeout as sleep } from "node:timers/promises";
import type { LogPage } from "../../core/domain/log-entry.ts";

export type LogRow = LogPage["logs"][number];

/** A page, or undefined where the platform does not answer just now. */
export type ReadPage = (since: string | undefined) => Promise<Pick<LogPage, "logs" | "cursor"> | undefined>;

export interface FollowOptions {
  /** Where to begin; absent: with the newest entries. */
  readonly since: string | undefined;
  readonly signal: AbortSignal;
  /** Called when the platform stops answering, once until it answers again. */
  readonly onSilence?: () => void;
}

/** Between two pages that had nothing new. */
const PAUSE_MS = 200;
/** Between two tries of a platform that does not answer. */
const RETRY_MS = 1000;

export async function* followLog(read: ReadPage, options: FollowOptions): AsyncGenerator<LogRow> {
  const { signal, onSilence } = options;
  let { since } = options;
  let silent = false;
  while (!signal.aborted) {
    const page = await read(since);
    if (signal.aborted) return;
    if (page === undefined) {
      if (!silent) onSilence?.();
      silent = true;
    } else {
      silent = false;
      since = page.cursor;
      yield* page.logs;
      if (page.logs.length > 0) continue;
    }
    await sleep(silent ? RETRY_MS : PAUSE_MS, undefined, { signal }).catch(() => undefined);
  }
}
