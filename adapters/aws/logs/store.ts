/**
 * `LogStore` on CloudWatch Logs: one log group, and a stream prefix per deployment.
 *
 * A search reads pages of FilterLogEvents from the oldest or the newest end. Events have millisecond timestamps; the
 * platform's entries also contain the nanosecond. AWS orders the events of a millisecond by their put request, which no
 * response shows. So the store reads each millisecond completely and sorts it.
 */

import type { FilteredLogEvent, FilterLogEventsCommandInput } from "@aws-sdk/client-cloudwatch-logs";
import { before, type LogPosition } from "../../../core/domain/logs/cursor.ts";
import { isWritable, type NewLogEntry } from "../../../core/domain/logs/entry.ts";
import { matcherOf } from "../../../core/domain/logs/filter/match.ts";
import { type Instant, instantOfMillis, millisOf } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { LogFindings, LogQuery, LogScope } from "../../../core/ports/log-store.ts";
import { err, errAsync, ok, okAsync, type Result, type ResultAsync, safeTry } from "../../../core/result.ts";
import { isCallState } from "../../shared/calls/provider-call.ts";
import { firstEntries } from "../../shared/logs/first-entries.ts";
import type { LogToRead, ReadTogether } from "../../shared/logs/followers.ts";
import { compileRe2 } from "../../shared/logs/re2.ts";
import { divideQuota, type QuotaShares } from "../../shared/logs/read-quota.ts";
import { RisingClock } from "../../shared/logs/rising-clock.ts";
import { type List, type Listing, type Scan, scanAfter, scanNewest } from "../../shared/logs/scan.ts";
import { type CloudLogs, LogSearches, type SearchOptions, Stopped } from "../../shared/logs/searches.ts";
import { type AwsRuntimeDeps, awsCalls, type Called, commandSender, type RetryOptions } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { AwsConfig } from "../config.ts";
import { batchesOf, type InputEvent } from "./batches.ts";
import { RETENTION_DAYS } from "./capabilities.ts";
import { logEntryOf, messageFor, PLATFORM_STREAM } from "./entry.ts";
import { isEverything, isNothing, type Pushdown, pushdownOf } from "./pushdown.ts";
import { scopeFinder, streamPrefixOf } from "./streams.ts";
import { SharedPrefixes } from "./together.ts";

/** "Up to 10,000 log events" in one page (FilterLogEventsRequest, `limit`). */
const PAGE_SIZE = 10_000;
const GRAIN = { asc: 1_000_000n, desc: 1_000_000n } as const;
const DAY_MS = 86_400_000;
/** Earliest start of a search from the newest end (FilterLogEventsRequest, `startFromHead`). */
const FIRST_BACKWARDS = Date.UTC(2024, 0, 1);
const RANDOM_DIGITS = 7;

/** Of 5 reads a second: 1 for deploys, 2 for followers, and 2 for searches. */
const SHARES: QuotaShares = { parts: 5, deploys: 1, followers: 2, isPerSecond: true };

type FilterInput = Omit<FilterLogEventsCommandInput, "logGroupName">;

interface EventPage {
  readonly events: readonly FilteredLogEvent[];
  readonly next: string | undefined;
}

const rejected = unavailable("CloudWatch Logs rejected the search.", 60);

export const createAwsLogs = (config: AwsConfig, clients: ClientSource, runtime: AwsRuntimeDeps): CloudLogs => {
  const { clock, ids, logger } = runtime;
  const { logGroup: logGroupName } = config.shared;
  const send = commandSender("logs", "logs", clients, awsCalls(runtime), { abortRequests: false });
  const rising = new RisingClock(clock);

  /** Sets time and id once, so that a retry does not duplicate the entry. */
  const positioned = (entry: NewLogEntry): InputEvent => {
    const at = rising.next();
    return { timestamp: millisOf(at), message: messageFor(entry, at, ids.id().slice(0, RANDOM_DIGITS)) };
  };

  const logLoss = (fields: Readonly<Record<string, unknown>>): void =>
    logger.error("CloudWatch Logs rejected log entries; they are lost", fields);

  const noGroup = (error: unknown): Unavailable => {
    logger.error("CloudWatch Logs does not find the log group; check logGroup", { error });
    return unavailable("CloudWatch Logs does not find the platform's logs.", 60, error);
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
   * "Set startTime explicitly to reduce the chances of empty pages": no entry is older than the retention
   * (FilterLogEventsRequest, `startTime`).
   */
  const startOf = (froms: readonly (Instant | undefined)[], order: "asc" | "desc"): number => {
    const oldest = millisOf(clock.now()) - RETENTION_DAYS * DAY_MS;
    const earliest = order === "desc" ? FIRST_BACKWARDS : 0;
    return Math.max(oldest, earliest, ...froms.filter((one) => one !== undefined).map(millisOf));
  };

  const filterEvents = (input: FilterInput, retry: RetryOptions): ResultAsync<EventPage, Unavailable> =>
    send("FilterLogEventsCommand", { logGroupName, ...input }, retry)
      .map(({ events = [], nextToken: next }) => ({ events, next }))
      .orElse((error) => {
        if (!isCallState(error)) return err(error);
        // The platform's stream does not exist before its first write.
        if (error.code === "not_found" && input.logStreamNames !== undefined)
          return ok({ events: [], next: undefined });
        return err(error.code === "invalid" ? rejected : noGroup(error.error));
      });

  const listEvents = async (scope: LogScope, input: FilterInput, retry: RetryOptions): Promise<Listing> => {
    const listed = await filterEvents(input, retry);
    if (listed.isErr()) throw new Stopped(listed.error);
    const { events, next } = listed.value;
    return { entries: events.flatMap((event) => logEntryOf(scope, event) ?? []), ...(next !== undefined && { next }) };
  };

  const scanOf = (scope: LogScope, query: LogQuery, options: SearchOptions): Scan => {
    const { signal, forDeploy = false } = options;
    const budget = searches.budget(query, options);
    const pushed = pushdownOf(query.filter, scope, compileRe2);
    const prefix = streamPrefixOf(scope.owner, scope.service);
    const list: List = async (range, order, size, token) => {
      const bounds: Pick<Pushdown, "from" | "to"> = range.narrowed ? pushed : {};
      const tos = [range.to, bounds.to].filter((one) => one !== undefined).map(millisOf);
      const startTime = startOf([range.from, bounds.from], order);
      const endTime = tos.length === 0 ? undefined : Math.min(...tos);
      if (endTime !== undefined && endTime < startTime) return { entries: [] };
      const timeoutMs = await budget.take();
      const streams =
        range.narrowed && pushed.platformOnly
          ? { logStreamNames: [prefix + PLATFORM_STREAM] }
          : { logStreamNamePrefix: prefix };
      const startFromHead = order === "asc" ? undefined : false;
      const input = { ...streams, startTime, endTime, startFromHead, limit: size, nextToken: token };
      return listEvents(scope, input, { timeoutMs, signal });
    };
    return {
      list,
      pushed: isNothing(pushed) ? "nothing" : isEverything(pushed) ? "everything" : "some",
      matches: matcherOf(query.filter, compileRe2),
      limit: query.limit,
      until: query.until,
      needsSeen: !forDeploy,
      isOver: budget.isOver,
      grain: GRAIN,
      maxPageEntries: PAGE_SIZE,
    };
  };

  const read = async (
    scope: LogScope,
    query: LogQuery,
    position: LogPosition | undefined,
    options: SearchOptions,
  ): Promise<Result<LogFindings, Unavailable>> => {
    try {
      const scan = scanOf(scope, query, options);
      return ok(await (position === undefined ? scanNewest(scan) : scanAfter(scan, position)));
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      return err(error.reason === "invalid" ? rejected : error.reason);
    }
  };

  /**
   * Does not retry: the followers' next read does. The order within a millisecond differs from that of positions, so an
   * incomplete page ends before its last millisecond.
   */
  const readTogether = async <L extends LogToRead>(
    logs: readonly L[],
    until: Instant,
    nextTurn: () => Promise<void>,
  ): Promise<Result<ReadTogether<L>, Unavailable>> => {
    const [first, ...others] = logs;
    if (first === undefined) return ok({ read: [], unjoinable: [], entries: [], size: 0 });
    const shared = prefixes.choose([first, ...others], until);
    const [startTime, endTime] = [startOf([first.through.instant], "asc"), millisOf(until)];
    if (endTime < startTime) return ok({ read: shared.read, unjoinable: [], entries: [], size: 0 });
    const range = { startTime, endTime, ...(shared.prefix !== "" && { logStreamNamePrefix: shared.prefix }) };
    const scopeOf = scopeFinder(shared.read.map(({ scope }) => scope));
    const list = (nextToken: string | undefined) =>
      filterEvents({ ...range, limit: PAGE_SIZE, nextToken }, { timeoutMs: 0 }).map(({ events, next }) => {
        const entries = events.flatMap((event) => {
          const scope = scopeOf(event.logStreamName ?? "");
          const entry = scope && logEntryOf(scope, event);
          return entry !== undefined && entry.instant <= until ? [entry] : [];
        });
        const last = events.at(-1)?.timestamp;
        return { entries, size: events.length, end: last === undefined ? last : before(instantOfMillis(last)), next };
      });
    const found = await firstEntries(async (token) => list(token), first.through, nextTurn);
    if (found.isOk()) prefixes.took(shared, found.value.pages, found.value.end === undefined);
    return found.map((value) => ({ read: shared.read, unjoinable: [], ...value }));
  };

  const prefixes = new SharedPrefixes(clock);
  const searches = new LogSearches(clock, divideQuota(clock, config.logReadsPerMinute, SHARES), read, readTogether);

  return {
    /** Drops entries that CloudWatch Logs rejects (over 1 MB) and logs the loss. Writes the others. */
    append: (entries, { signal } = {}) =>
      safeTry(async function* () {
        const scopes = Map.groupBy(entries.filter(isWritable), ({ owner, service }) => streamPrefixOf(owner, service));
        for (const [prefix, some] of scopes) {
          const { batches, tooLarge } = batchesOf(some.map(positioned));
          if (tooLarge.length > 0) logLoss({ cause: "larger than 1 MB", count: tooLarge.length });
          for (const batch of batches) yield* await write(prefix + PLATFORM_STREAM, batch, signal);
          searches.appended(some[0] as NewLogEntry);
        }
        return ok(undefined);
      }),

    newest: (scope, query, options) => searches.search(scope, query, undefined, options),
    deployReads: { newest: (scope, query, options) => searches.searchForDeploy(scope, query, options) },
    after: (scope, position, query, options) => searches.search(scope, query, position, options),
  };
};
