/**
 * A log store that works like those of clouds: it sets the time of each entry itself, and searches find an entry only
 * after a delay.
 */

import { compileRe2 } from "../../adapters/shared/logs/re2.ts";
import { comparePositions, type LogPosition, nameCode } from "../../core/domain/logs/cursor.ts";
import type { LogEntry } from "../../core/domain/logs/entry.ts";
import { matcherOf } from "../../core/domain/logs/filter/match.ts";
import { type Instant, plusMillis } from "../../core/domain/wire/instant.ts";
import type { LogFindings, LogQuery, LogScope, LogStore } from "../../core/ports/log-store.ts";
import type { Clock } from "../../core/ports/system.ts";
import { okAsync } from "../../core/result.ts";

/** An entry, the store's id for it, and the time from which searches find it. */
export interface LateEntry {
  readonly entry: Omit<LogEntry, "code">;
  readonly id: string;
  readonly shownAt: Instant;
}

/**
 * @param entries initial entries; `append` adds to this array
 * @param delay returns the milliseconds until searches find an appended entry
 */
export const createLateLogs = (entries: LateEntry[], clock: Clock, delay: () => number): LogStore => {
  const shown = ({ owner, service }: LogScope, { until }: LogQuery): LogEntry[] =>
    entries
      .filter(({ entry }) => entry.owner === owner && entry.service === service)
      .filter(({ entry, shownAt }) => shownAt <= clock.now() && (until === undefined || entry.instant <= until))
      .map(({ entry, id }): LogEntry => ({ ...entry, code: nameCode(id) }))
      .toSorted(comparePositions);
  const findings = (found: readonly LogEntry[], seen: LogPosition | undefined): LogFindings => ({
    entries: found,
    partial: false,
    ...(seen === undefined ? {} : { seen }),
  });
  return {
    append: (written) => {
      const instant = clock.now();
      for (const entry of written)
        entries.push({ entry: { ...entry, instant }, id: `e${entries.length}`, shownAt: plusMillis(instant, delay()) });
      return okAsync(undefined);
    },
    newest: (scope, query) => {
      const all = shown(scope, query);
      return okAsync(findings(all.filter(matcherOf(query.filter, compileRe2)).slice(-query.limit), all.at(-1)));
    },
    after: (scope, place, query) => {
      const all = shown(scope, query).filter((one) => comparePositions(one, place) > 0);
      const matches = all.filter(matcherOf(query.filter, compileRe2)).slice(0, query.limit);
      return okAsync(findings(matches, matches.length === query.limit ? matches.at(-1) : all.at(-1)));
    },
  };
};
