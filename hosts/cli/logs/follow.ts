/** Follows a deployment's log by its cursor. Yields each entry once, even across restarts of the server. */
import { setTimeout as sleep } from "node:timers/promises";
import { fieldLimits } from "../../../core/domain/accounts/limits.ts";
import type { LogPage } from "../../../core/domain/logs/entry.ts";
import { type FollowOptions, followLog as followPages, type ReadPage } from "../../../core/domain/logs/follow-log.ts";

export type LogRow = LogPage["logs"][number];

/** Entries per request: the API's maximum page size. */
export const LOG_PAGE = fieldLimits.logs.max;

const waitFor = (millis: number, signal: AbortSignal): Promise<unknown> =>
  sleep(millis, undefined, { signal }).catch(() => undefined);

/** Follows a log in pages of `LOG_PAGE` entries. Tests replace `now` and `wait`. */
export const followLog = (
  read: ReadPage,
  options: Omit<FollowOptions, "limit" | "now" | "wait"> & Partial<Pick<FollowOptions, "now" | "wait">>,
): AsyncGenerator<LogRow> =>
  followPages(read, { limit: LOG_PAGE, now: () => performance.now(), wait: waitFor, ...options });
