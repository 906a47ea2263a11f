/**
 * `LogStore` on CloudWatch Logs: one log group, and a stream prefix per deployment.
 *
 * A search reads pages of FilterLogEvents, starting with the oldest or the newest entry. Events have millisecond
 * timestamps; the platform's entries also contain nanoseconds. AWS orders the events of a millisecond by the request
 * that wrote them, and no response names that request. Therefore, the store reads each millisecond completely and sorts
 * its events.
 */

import type { FilteredLogEvent, FilterLogEventsCommandInput } from "@aws-sdk/client-cloudwatch-logs";
import { before } from "../../../core/domain/logs/cursor.ts";
import { type Instant, instantOfMillis, millisOf } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import { err, errAsync, ok, okAsync, type Result, type ResultAsync, safeTry } from "../../../core/result.ts";
import { isCallState } from "../../cloud/calls/provider-call.ts";
import { batchesOf } from "../../cloud/logs/batches.ts";
import type { LogDriver } from "../../cloud/logs/driver.ts";
import type { QuotaShares } from "../../cloud/logs/read-quota.ts";
import type { CloudLogs } from "../../cloud/logs/searches.ts";
import { createCloudLogs } from "../../cloud/logs/store.ts";
import { compileRe2 } from "../../shared/logs/re2.ts";
import { type AwsRuntimeDeps, awsCalls, type Called, commandSender, type RetryOptions } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { AwsConfig } from "../config.ts";
import { batchLimits, type InputEvent, isSmallEnough } from "./batches.ts";
import { RETENTION_DAYS } from "./capabilities.ts";
import { logEntryOf, messageFor, PLATFORM_STREAM } from "./entry.ts";
import { isEverything, isNothing, type Pushdown, pushdownOf } from "./pushdown.ts";
import { SharedPrefixes } from "./shared-streams.ts";
import { scopeFinder, streamPrefixOf } from "./streams.ts";

/** "Up to 10,000 log events" in one page (FilterLogEventsRequest, `limit`). */
const PAGE_SIZE = 10_000;
const GRAIN = { asc: 1_000_000n, desc: 1_000_000n } as const;
const DAY_MS = 86_400_000;
/** Earliest start of a search that begins with the newest entry (FilterLogEventsRequest, `startFromHead`). */
const FIRST_BACKWARDS = Date.UTC(2024, 0, 1);

/** A fifth of the reads for deploys, two fifths for followers, and two fifths for searches. */
const SHARES: QuotaShares = { parts: 5, deploys: 1, followers: 2, isPerSecond: true };

type FilterInput = Omit<FilterLogEventsCommandInput, "logGroupName">;

interface EventPage {
  readonly events: readonly FilteredLogEvent[];
  readonly next: string | undefined;
}

export const createAwsLogs = (config: AwsConfig, clients: ClientSource, runtime: AwsRuntimeDeps): CloudLogs => {
  const { clock, logger } = runtime;
  const { logGroup: logGroupName } = config.shared;
  const send = commandSender("logs", "logs", clients, awsCalls(runtime), { abortRequests: false });
  const prefixes = new SharedPrefixes(clock);

  const logLoss = (fields: Readonly<Record<string, unknown>>): void =>
    logger.error("log entries for CloudWatch Logs were lost", fields);

  const noGroup = (error: unknown): Unavailable => {
    logger.error("the log group does not exist in CloudWatch Logs; check logGroup", { error });
    return unavailable("The platform's log group does not exist in CloudWatch Logs.", 60, error);
  };

  const putEvents = (
    logStreamName: string,
    batch: readonly InputEvent[],
    signal: AbortSignal | undefined,
  ): Called<void> => {
    const input = { logGroupName, logStreamName, logEvents: [...batch] };
    return send("PutLogEventsCommand", input, { signal })
      .andTee(({ rejectedLogEventsInfo: rejected }) => {
        if (rejected !== undefined) logLoss({ cause: "this server's clock is off by hours", ...rejected });
      })
      .map(() => undefined);
  };

  const createStream = (logStreamName: string, signal: AbortSignal | undefined): ResultAsync<void, Unavailable> =>
    send("CreateLogStreamCommand", { logGroupName, logStreamName }, { signal })
      .map(() => undefined)
      .orElse((error) => {
        if (!isCallState(error)) return err(error);
        return error.code === "exists" ? ok(undefined) : err(noGroup(error.error));
      });

  /** Creates the deployment's stream at its first write. */
  const write = (
    stream: string,
    batch: readonly InputEvent[],
    signal: AbortSignal | undefined,
  ): ResultAsync<void, Unavailable> =>
    putEvents(stream, batch, signal).orElse((error) => {
      if (!isCallState(error)) return errAsync(error);
      if (error.code === "not_found")
        return createStream(stream, signal)
          .andThen(() => putEvents(stream, batch, signal))
          .mapErr((again) => (isCallState(again) ? noGroup(again.error) : again));
      logLoss({ cause: error.error });
      return okAsync(undefined);
    });

  /**
   * Returns the start of a search: "Set startTime explicitly to reduce the chances of empty pages"
   * (FilterLogEventsRequest, `startTime`). No entry is older than the retention.
   */
  const startOf = (froms: readonly (Instant | undefined)[], order: "asc" | "desc"): number => {
    const oldest = millisOf(clock.now()) - RETENTION_DAYS * DAY_MS;
    const earliest = order === "desc" ? FIRST_BACKWARDS : 0;
    return Math.max(oldest, earliest, ...froms.filter((one) => one !== undefined).map(millisOf));
  };

  const filterEvents = (input: FilterInput, retry: RetryOptions): ResultAsync<EventPage, Unavailable | "invalid"> =>
    send("FilterLogEventsCommand", { logGroupName, ...input }, retry)
      .map(({ events = [], nextToken: next }) => ({ events, next }))
      .orElse((error): Result<EventPage, Unavailable | "invalid"> => {
        if (!isCallState(error)) return err(error);
        // The platform's stream does not exist before its first write.
        if (error.code === "not_found" && input.logStreamNames !== undefined)
          return ok({ events: [], next: undefined });
        return err(error.code === "invalid" ? "invalid" : noGroup(error.error));
      });

  const driver: LogDriver = {
    service: "CloudWatch Logs",
    shares: SHARES,
    grain: GRAIN,
    maxPageEntries: PAGE_SIZE,

    /** CloudWatch Logs rejects an entry over 1 MB. */
    append: (entries, nextMark, signal) =>
      safeTry(async function* () {
        const scopes = Map.groupBy(entries, ({ owner, service }) => streamPrefixOf(owner, service));
        for (const [prefix, some] of scopes) {
          const events = some.map((entry): InputEvent => {
            const { instant, random } = nextMark();
            return { timestamp: millisOf(instant), message: messageFor(entry, instant, random) };
          });
          const sent = events.filter(isSmallEnough);
          if (sent.length < events.length) logLoss({ cause: "larger than 1 MB", count: events.length - sent.length });
          for (const batch of batchesOf(sent, batchLimits)) yield* await write(prefix + PLATFORM_STREAM, batch, signal);
        }
        return ok(undefined);
      }),

    searches: (scope, filter) => {
      const pushed = pushdownOf(filter, scope, compileRe2);
      const prefix = streamPrefixOf(scope.owner, scope.service);
      return [
        {
          pushed: isNothing(pushed) ? "nothing" : isEverything(pushed) ? "everything" : "some",
          list: async ({ take, signal }, range, order, size, token) => {
            const bounds: Pick<Pushdown, "from" | "to"> = range.narrowed ? pushed : {};
            const tos = [range.to, bounds.to].filter((one) => one !== undefined).map(millisOf);
            const startTime = startOf([range.from, bounds.from], order);
            const endTime = tos.length === 0 ? undefined : Math.min(...tos);
            if (endTime !== undefined && endTime < startTime) return ok({ entries: [] });
            const timeoutMs = await take();
            const streams =
              range.narrowed && pushed.platformOnly
                ? { logStreamNames: [prefix + PLATFORM_STREAM] }
                : { logStreamNamePrefix: prefix };
            const startFromHead = order === "asc" ? undefined : false;
            const input = { ...streams, startTime, endTime, startFromHead, limit: size, nextToken: token };
            return filterEvents(input, { timeoutMs, signal }).map(({ events, next }) => {
              const entries = events.flatMap((event) => logEntryOf(scope, event) ?? []);
              return { entries, ...(next !== undefined && { next }) };
            });
          },
        },
      ];
    },

    /**
     * Within a millisecond, AWS's order may differ from the order of positions. Therefore, an incomplete read counts
     * only up to the millisecond before its last event.
     */
    join: (logs, until) => {
      const shared = prefixes.choose(logs, until);
      const { read } = shared;
      const [startTime, endTime] = [startOf([logs[0].through.instant], "asc"), millisOf(until)];
      if (endTime < startTime) return { read, filtered: [] };
      const range = { startTime, endTime, ...(shared.prefix !== "" && { logStreamNamePrefix: shared.prefix }) };
      const scopeOf = scopeFinder(read.map(({ scope }) => scope));
      return {
        read,
        filtered: [],
        list: async (nextToken) =>
          filterEvents({ ...range, limit: PAGE_SIZE, nextToken }, { timeoutMs: 0 }).map(({ events, next }) => {
            const entries = events.flatMap((event) => {
              const scope = scopeOf(event.logStreamName ?? "");
              const entry = scope && logEntryOf(scope, event);
              return entry !== undefined && entry.instant <= until ? [entry] : [];
            });
            const last = events.at(-1)?.timestamp;
            const end = last === undefined ? undefined : before(instantOfMillis(last));
            return { entries, size: events.length, end, next };
          }),
        onRead: ({ pages, end }) => prefixes.took(shared, pages, end === undefined),
      };
    },
  };

  return createCloudLogs(driver, runtime, config.logReadsPerMinute);
};
