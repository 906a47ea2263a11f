/** Stores log entries in one array per deployment, ordered by position. */
import {
  behind,
  comparePositions,
  justBefore,
  type LogPosition,
  nextPosition,
} from "../../../core/domain/logs/cursor.ts";
import { isWritable, type LogEntry, type NewLogEntry, type Severity } from "../../../core/domain/logs/entry.ts";
import { matcherOf } from "../../../core/domain/logs/filter/match.ts";
import type { CompilePattern } from "../../../core/domain/logs/filter/pattern.ts";
import { bucketOf } from "../../../core/domain/logs/histogram.ts";
import { fitting } from "../../../core/domain/logs/page-size.ts";
import { plusMillis } from "../../../core/domain/wire/instant.ts";
import { unavailable } from "../../../core/errors.ts";
import type { LogFindings, LogQuery, LogScope, LogStore } from "../../../core/ports/log-store.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { errAsync, okAsync } from "../../../core/result.ts";
import { scopeKey } from "../../shared/accounts/scope-key.ts";
import { EntryWaits } from "../../shared/logs/entry-waits.ts";
import type { World } from "../world.ts";

const cancelled = () => unavailable("The search was cancelled.", 1);

/** How many entries to search between two checks of the clock. */
const BATCH = 1000;

/** Copies an entry as a real store would: `json` makes a round trip through JSON. */
const copyOf = (entry: NewLogEntry): NewLogEntry =>
  entry.json === undefined ? structuredClone(entry) : { ...entry, json: JSON.parse(JSON.stringify(entry.json)) };

/** Counts the entries at or before a position. */
const countUpTo = (entries: readonly LogEntry[], position: LogPosition): number => {
  let [from, to] = [0, entries.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (comparePositions(entries[middle] as LogEntry, position) <= 0) from = middle + 1;
    else to = middle;
  }
  return from;
};

/** @param maxScanned the maximum number of entries that one search examines; defaults to all */
export const createMemoryLogs = (
  world: World,
  clock: Clock,
  compile: CompilePattern,
  maxScanned = Number.POSITIVE_INFINITY,
): LogStore => {
  const entriesOf = ({ owner, service }: LogScope, { until }: Pick<LogQuery, "until">): readonly LogEntry[] => {
    const entries = world.logs.get(scopeKey(owner, service)) ?? [];
    return until === undefined ? entries : entries.slice(0, countUpTo(entries, behind(until)));
  };
  const findings = (entries: readonly LogEntry[], seen: LogPosition | undefined, partial: boolean): LogFindings => ({
    entries: structuredClone(entries) as LogEntry[],
    ...(seen === undefined ? {} : { seen: { instant: seen.instant, code: seen.code } }),
    partial,
  });
  /** Searches entries in order until `limit` entries match or the time runs out. */
  const search = (entries: readonly LogEntry[], { filter, limit, timeoutMs }: LogQuery) => {
    const matches = matcherOf(filter, compile);
    const ends = plusMillis(clock.now(), timeoutMs);
    const found: LogEntry[] = [];
    let examined = 0;
    do {
      const next = entries.slice(examined, Math.min(examined + BATCH, maxScanned));
      examined += next.length;
      found.push(...next.filter(matches));
    } while (examined < Math.min(entries.length, maxScanned) && found.length < limit && clock.now() < ends);
    return { matches: found.slice(0, limit), examined };
  };
  const waits = new EntryWaits();
  return {
    append: (entries) => {
      const now = clock.now();
      for (const entry of entries.filter(isWritable)) {
        const key = scopeKey(entry.owner, entry.service);
        const log = world.logs.get(key) ?? [];
        world.logs.set(key, log);
        log.push({ ...copyOf(entry), ...nextPosition(log.at(-1), now) });
        waits.received(entry);
      }
      return okAsync(undefined);
    },

    newest: (scope, query, { signal } = {}) => {
      if (signal?.aborted === true) return errAsync(cancelled());
      const entries = entriesOf(scope, query);
      const { matches, examined } = search(entries.toReversed(), query);
      const page = fitting(matches);
      const cut = page.length < matches.length;
      const partial = cut || (examined < entries.length && matches.length < query.limit);
      return okAsync(findings(page.toReversed(), entries.at(-1), partial));
    },

    after: (scope, position, query, { signal } = {}) => {
      if (signal?.aborted === true) return errAsync(cancelled());
      const all = entriesOf(scope, query);
      const later = all.slice(countUpTo(all, position));
      const { matches, examined } = search(later, query);
      const page = fitting(matches);
      const cut = page.length < matches.length;
      const full = matches.length === query.limit;
      const partial = cut || (examined < later.length && !full);
      return okAsync(findings(page, cut || full ? page.at(-1) : later[examined - 1], partial));
    },

    before: (scope, position, query, { signal } = {}) => {
      if (signal?.aborted === true) return errAsync(cancelled());
      const all = entriesOf(scope, query);
      const earlier = all.slice(0, countUpTo(all, position)).toReversed();
      const { matches, examined } = search(earlier, query);
      const page = fitting(matches);
      const cut = page.length < matches.length;
      const full = matches.length === query.limit;
      const partial = cut || (examined < earlier.length && !full);
      const oldest = cut || full ? page.at(-1) : partial ? earlier[examined - 1] : undefined;
      return okAsync(findings(page.toReversed(), oldest && justBefore(oldest), partial));
    },

    count: (scope, { filter, edges, timeoutMs }, { signal } = {}) => {
      if (signal?.aborted === true) return errAsync(cancelled());
      const matches = matcherOf(filter, compile);
      const ends = plusMillis(clock.now(), timeoutMs);
      const counts: Partial<Record<Severity, number>>[] = edges.slice(1).map(() => ({}));
      const [oldest, newest] = [edges[0] as LogPosition, edges.at(-1) as LogPosition];
      const all = entriesOf(scope, {});
      const range = all.slice(countUpTo(all, oldest), countUpTo(all, newest));
      let left = range.length;
      do {
        const from = Math.max(0, left - Math.min(BATCH, maxScanned));
        for (const entry of range.slice(from, left).filter(matches)) {
          const sums = counts[bucketOf(edges, entry)] ?? {};
          sums[entry.severity] = (sums[entry.severity] ?? 0) + 1;
        }
        left = from;
      } while (left > 0 && range.length - left < maxScanned && clock.now() < ends);
      return okAsync({ counts, ...(left === 0 ? {} : { seen: justBefore(range[left] as LogEntry) }) });
    },

    nextEntry: (scope, { signal }) => waits.next(scope, signal),
  };
};
