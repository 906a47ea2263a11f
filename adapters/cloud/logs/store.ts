/** `LogStore` on a cloud's log service. */
import type { LogPosition } from "../../../core/domain/logs/cursor.ts";
import { isWritable } from "../../../core/domain/logs/entry.ts";
import { matcherOf } from "../../../core/domain/logs/filter/match.ts";
import { printLogFilter } from "../../../core/domain/logs/filter/print.ts";
import { isEverything } from "../../../core/domain/logs/filter/tree.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { LogFindings, LogQuery, LogScope } from "../../../core/ports/log-store.ts";
import type { Clock, Ids, Logger } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { compileRe2 } from "../../shared/logs/re2.ts";
import type { EntryMark, LogDriver, LogSearch } from "./driver.ts";
import { firstEntries } from "./first-entries.ts";
import type { LogToRead, ReadTogether } from "./followers.ts";
import { divideQuota } from "./read-quota.ts";
import { type Scan, scanAfter, scanBefore, scanNewest } from "./scan.ts";
import { type CloudLogs, LogSearches, type SearchOptions, Stopped } from "./searches.ts";

/** Number of random characters that distinguish the entries of one instant. */
const RANDOM_CHARS = 7;

export interface CloudLogsDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

export const createCloudLogs = (
  driver: LogDriver,
  { clock, ids, logger }: CloudLogsDeps,
  readsPerMinute: number,
): CloudLogs => {
  const { service, grain, maxPageEntries } = driver;
  const rejected = unavailable(`${service} rejected the search.`, 60);
  let last = 0n;
  /** Times increase strictly, so that the entries of one writer keep their order. */
  const nextMark = (): EntryMark => {
    const now = clock.now();
    last = now > last ? now : last + 1n;
    return { instant: last as Instant, random: ids.id().slice(0, RANDOM_CHARS) };
  };

  const scanOf = (search: LogSearch, query: LogQuery, options: SearchOptions): Scan => {
    const budget = searches.budget(query, options);
    return {
      list: async (...page) => {
        const listed = await search.list({ take: budget.take, signal: options.signal }, ...page);
        if (listed.isErr()) throw new Stopped(listed.error);
        return listed.value;
      },
      pushed: search.pushed,
      matches: matcherOf(query.filter, compileRe2),
      matchesAll: isEverything(query.filter),
      limit: query.limit,
      until: query.until,
      needsSeen: options.forDeploy !== true,
      isOver: budget.isOver,
      grain,
      maxPageEntries,
    };
  };

  const read = async (
    scope: LogScope,
    query: LogQuery,
    position: LogPosition | undefined,
    options: SearchOptions,
  ): Promise<Result<LogFindings, Unavailable>> => {
    for (const search of driver.searches(scope, query.filter))
      try {
        const scan = scanOf(search, query, options);
        if (position === undefined) return ok(await scanNewest(scan));
        return ok(await (options.backwards ? scanBefore(scan, position) : scanAfter(scan, position)));
      } catch (error) {
        if (!(error instanceof Stopped)) throw error;
        if (error.reason !== "invalid") return err(error.reason);
        logger.warn(`${service} rejected a filter`, { filter: printLogFilter(query.filter) });
      }
    return err(rejected);
  };

  const readTogether = async <L extends LogToRead>(
    logs: readonly L[],
    until: Instant,
    nextTurn: () => Promise<void>,
  ): Promise<Result<ReadTogether<L>, Unavailable>> => {
    const nothing = { read: [], unjoinable: [], entries: [], size: 0 };
    const [next, ...others] = logs;
    if (next === undefined) return ok(nothing);
    const { read: joined, list, filtered, onRead } = driver.join([next, ...others], until);
    const [first] = joined;
    if (list === undefined || first === undefined) return ok({ ...nothing, read: joined });
    const found = await firstEntries(list, first.through, nextTurn);
    if (found.isOk()) {
      onRead?.(found.value);
      return ok({ read: joined, unjoinable: [], ...found.value });
    }
    if (found.error !== "invalid") return err(found.error);
    if (filtered.length === 0) return err(rejected);
    logger.warn(`${service} rejected a follower's filter; the log is read separately`);
    return ok({ ...nothing, unjoinable: filtered });
  };

  const searches = new LogSearches(clock, divideQuota(clock, readsPerMinute, driver.shares), read, readTogether);

  return {
    append: (entries, { signal } = {}) => {
      const appended = () => {
        for (const entry of entries) searches.appended(entry);
      };
      return driver.append(entries.filter(isWritable), nextMark, signal).andTee(appended).orTee(appended);
    },
    newest: (scope, query, options) => searches.search(scope, query, undefined, options),
    after: (scope, position, query, options) => searches.search(scope, query, position, options),
    before: (scope, position, query, options) => searches.searchBefore(scope, query, position, options),
    deployReads: { newest: (scope, query, options) => searches.searchForDeploy(scope, query, options) },
  };
};
