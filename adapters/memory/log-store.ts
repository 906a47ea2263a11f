/** Log entries in arrays, one a deployment, in the order of their positions. */
import { behind, comparePositions, type LogPosition, nextPosition } from "../../core/domain/log-cursor.ts";
import type { LogEntry } from "../../core/domain/log-entry.ts";
import { matcherOf } from "../../core/domain/log-filter/match.ts";
import type { CompilePattern } from "../../core/domain/log-filter/pattern.ts";
import { fitting } from "../../core/domain/log-page-room.ts";
import { unavailable } from "../../core/errors.ts";
import type { LogFindings, LogQuery, LogScope, LogStore } from "../../core/ports/log-store.ts";
import type { Clock } from "../../core/ports/system.ts";
import { errAsync, okAsync } from "../../core/result.ts";
import { scopeKey } from "../shared/scope-key.ts";
import type { World } from "./world.ts";

const nobodyWaits = () => unavailable("The search was ended, for nobody waits for it.", 1);

/** How many of the entries lie before or at a place. */
const countUpTo = (entries: readonly LogEntry[], position: LogPosition): number => {
  let [from, to] = [0, entries.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if (comparePositions(entries[middle] as LogEntry, position) <= 0) from = middle + 1;
    else to = middle;
  }
  return from;
};

/** @param scanned entries that one search looks at before its patience is over; every entry unless told */
export const createMemoryLogs = (
  world: World,
  clock: Clock,
  compile: CompilePattern,
  scanned = Number.POSITIVE_INFINITY,
): LogStore => {
  const kept = ({ owner, service }: LogScope, { until }: LogQuery): readonly LogEntry[] => {
    const entries = world.logs.get(scopeKey(owner, service)) ?? [];
    return until === undefined ? entries : entries.slice(0, countUpTo(entries, behind(until)));
  };
  const found = (entries: readonly LogEntry[], seen: LogPosition | undefined, partial: boolean): LogFindings => ({
    entries: structuredClone(entries) as LogEntry[],
    ...(seen === undefined ? {} : { seen: { instant: seen.instant, code: seen.code } }),
    partial,
  });
  return {
    append: (entries) => {
      const now = clock.now();
      for (const entry of entries) {
        const key = scopeKey(entry.owner, entry.service);
        const log = world.logs.get(key) ?? [];
        world.logs.set(key, log);
        log.push({ ...structuredClone(entry), ...nextPosition(log.at(-1), now) });
      }
      return okAsync(undefined);
    },

    newest: (scope, query, { signal } = {}) => {
      if (signal?.aborted === true) return errAsync(nobodyWaits());
      const entries = kept(scope, query);
      const looked = entries.slice(-Math.min(scanned, entries.length));
      const matches = looked.filter(matcherOf(query.filter, compile)).slice(-query.limit);
      const page = fitting(matches.toReversed()).toReversed();
      const cut = page.length < matches.length;
      const partial = cut || (looked.length < entries.length && matches.length < query.limit);
      return okAsync(found(page, entries.at(-1), partial));
    },

    after: (scope, position, query, { signal } = {}) => {
      if (signal?.aborted === true) return errAsync(nobodyWaits());
      const all = kept(scope, query);
      const from = countUpTo(all, position);
      const looked = all.slice(from, from + Math.min(scanned, all.length));
      const matches = looked.filter(matcherOf(query.filter, compile)).slice(0, query.limit);
      const page = fitting(matches);
      const cut = page.length < matches.length;
      const full = matches.length === query.limit;
      const partial = cut || (from + looked.length < all.length && !full);
      return okAsync(found(page, (cut || full ? page : looked).at(-1), partial));
    },
  };
};
