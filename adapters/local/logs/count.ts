/** Counts the matching rows of a log file by bucket and severity, newest bucket first. */
import type { DatabaseSync } from "node:sqlite";
import { justBefore, type LogPosition } from "../../../core/domain/logs/cursor.ts";
import type { Severity } from "../../../core/domain/logs/entry.ts";
import { matcherOf } from "../../../core/domain/logs/filter/match.ts";
import type { LogCountQuery, LogCounts, LogScope } from "../../../core/ports/log-store.ts";
import { compileRe2 } from "../../shared/logs/re2.ts";
import { entryOf, keyAfter, keyOf, positionOf, type Row, severityOf } from "./rows.ts";
import { searchDeadline } from "./search-deadline.ts";
import { whereClause } from "./where-clause.ts";
import { Windows } from "./windows.ts";

export interface LogCount {
  readonly path: string;
  readonly scope: LogScope;
  readonly query: LogCountQuery;
}

/** The number of matching rows in a window that have a severity. */
type CountedRow = Pick<Row, "severity"> & { readonly entries: bigint };

export const countRows = (db: DatabaseSync, { scope, query: { filter, edges, timeoutMs } }: LogCount): LogCounts => {
  const where = whereClause(filter, scope.service);
  const windows = new Windows(db, scope.service, false, where, where.exact ? "counts" : "rows");
  const matches = matcherOf(filter, compileRe2);
  const deadline = searchDeadline(timeoutMs);
  const counts: Partial<Record<Severity, number>>[] = edges.slice(1).map(() => ({}));

  /** Counts a window. If the timeout has passed, returns the last row that was examined. */
  const countWindow = (rows: Iterable<unknown>, sums: Partial<Record<Severity, number>>): Row | undefined => {
    const add = (rank: bigint, entries: number) => {
      const severity = severityOf(Number(rank));
      sums[severity] = (sums[severity] ?? 0) + entries;
    };
    if (where.exact) {
      for (const { severity, entries } of rows as Iterable<CountedRow>) add(severity, Number(entries));
      return undefined;
    }
    for (const row of rows as Iterable<Row>) {
      if (matches(entryOf(scope.owner, row))) add(row.severity, 1);
      if (deadline.isOverAfter(row)) return row;
    }
    return undefined;
  };

  for (const [index, sums] of [...counts.entries()].reverse()) {
    const [oldest, newest] = edges.slice(index) as [LogPosition, LogPosition];
    const end = keyAfter(keyOf(oldest));
    for (let from = keyAfter(keyOf(newest)); ; ) {
      const { rows, border } = windows.next(from, end);
      const last = countWindow(rows, sums);
      if (last !== undefined) return { counts, seen: justBefore(positionOf(last)) };
      if (border === undefined) break;
      if (deadline.isOver()) return { counts, seen: justBefore(positionOf(border)) };
      from = border;
    }
    if (index > 0 && deadline.isOver()) return { counts, seen: oldest };
  }
  return { counts };
};
