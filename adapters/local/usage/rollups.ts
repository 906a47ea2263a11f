/** Stores the rollups of metrics in the engine's file, which the server reads. */
import type { DatabaseSync } from "node:sqlite";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import {
  type MetricWindow,
  type MinuteRollup,
  minuteOf,
  type ObservedTime,
  sumSteps,
} from "../../../core/domain/usage/metrics.ts";
import { addRendered, parseRollup, type Rollup, renderRollup } from "../../../core/domain/usage/rollup.ts";
import { plusMillis, secondsOf } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { MetricScope, MetricStore } from "../../../core/ports/metric-store.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import { errAsync, ok, okAsync, ResultAsync, safeTry } from "../../../core/result.ts";
import type { ReadOnlyFile } from "../data-folder/read-only-file.ts";
import type { ReplaceableFile } from "../data-folder/replaceable-file.ts";
import { transaction } from "../state/database.ts";
import { insert, selectAll, selectFirst } from "../state/sql.ts";

/** The days for which metrics are stored. */
export const METRIC_DAYS = 7;
/** The maximum number of rollups in the file. 50 deployments that always have an instance reach it in a week. */
const MAX_ROWS = 500_000;
const DAY_MS = 86_400_000;
const HOUR_S = 3600;

/** The rollup of a deployment in a minute. */
export interface RollupRow {
  readonly minute: number;
  readonly owner: string;
  readonly name: string;
  /** From `renderRollup`. */
  readonly rollup: string;
}

const SELECT_ROLLUP = "SELECT rollup FROM rollups WHERE owner = ? AND name = ? AND minute = ?";

const addRow = (db: DatabaseSync, { minute, owner, name, rollup }: RollupRow): void => {
  const present = selectFirst<Pick<RollupRow, "rollup">>(db, SELECT_ROLLUP, owner, name, minute);
  const sum = parseRollup(rollup);
  if (present !== undefined) addRendered(sum, present.rollup);
  insert(db, "INSERT OR REPLACE INTO rollups", { owner, name, minute, rollup: renderRollup(sum) });
};

/** Writes rollups, for the engine with the lease. Deletes rollups that are too old or exceed the maximum number. */
export class RollupWriter {
  readonly #file: Pick<ReplaceableFile, "use">;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #maxRows: number;
  /** The hour of the last deletion, in hours since 1970. */
  #pruned = 0;

  constructor(file: Pick<ReplaceableFile, "use">, clock: Clock, logger: Logger, maxRows = MAX_ROWS) {
    this.#file = file;
    this.#clock = clock;
    this.#logger = logger;
    this.#maxRows = maxRows;
  }

  /**
   * Adds rollups to the stored ones. If the write fails, the rollups are lost.
   * @param observedMillis the time for which this engine observed its services since the last call; 0 for rows of
   * another engine
   */
  add(rows: readonly RollupRow[], observedMillis: number): void {
    const minute = minuteOf(this.#clock.now());
    try {
      this.#file.use((db) =>
        transaction(db, () => {
          if (observedMillis > 0)
            db.prepare(
              `INSERT INTO observed_minutes (minute, millis) VALUES (?, ?)
               ON CONFLICT DO UPDATE SET millis = millis + excluded.millis`,
            ).run(minute, Math.round(observedMillis));
          for (const row of rows) addRow(db, row);
          this.#prune(db);
        }),
      );
    } catch (cause) {
      this.#logger.error("could not write metrics; those of the last seconds are lost", { cause });
    }
  }

  #prune(db: DatabaseSync): void {
    const now = this.#clock.now();
    const hour = Math.floor(secondsOf(now) / HOUR_S);
    if (hour === this.#pruned) return;
    const oldest = minuteOf(plusMillis(now, -METRIC_DAYS * DAY_MS)) - HOUR_S;
    // The newest row beyond `maxRows`. Its minute and all earlier ones are deleted.
    const over = selectFirst<{ minute: number }>(
      db,
      "SELECT minute FROM rollups ORDER BY minute DESC LIMIT 1 OFFSET ?",
      this.#maxRows,
    );
    db.prepare("DELETE FROM rollups WHERE minute < ?").run(Math.max(oldest, over === undefined ? 0 : over.minute + 1));
    db.prepare("DELETE FROM observed_minutes WHERE minute < ?").run(oldest);
    this.#pruned = hour;
  }
}

/** Returns the range of a window in seconds since 1970. */
const rangeOf = ({ from, step, count }: MetricWindow): readonly [from: number, to: number] => [
  secondsOf(from),
  secondsOf(from) + step * count,
];

/** Returns the time for which the platform observed its services in each step of the window. */
const readObserved = (db: DatabaseSync, window: MetricWindow): readonly ObservedTime[] => {
  const [from, to] = rangeOf(window);
  const observed = selectAll<{ first: number; millis: number }>(
    db,
    `SELECT MIN(minute) AS first, SUM(millis) AS millis FROM observed_minutes WHERE minute >= ? AND minute < ?
     GROUP BY CAST((minute - ?) / ? AS INTEGER)`,
    ...[from, to, from, window.step],
  );
  return observed.map(({ first, millis }): ObservedTime => [first, millis]);
};

const readSteps = (
  db: DatabaseSync,
  { owner, name }: MetricScope,
  window: MetricWindow,
  observed: readonly ObservedTime[],
): readonly (Rollup | null)[] => {
  const [from, to] = rangeOf(window);
  const rows = selectAll<Pick<RollupRow, "minute" | "rollup">>(
    db,
    "SELECT minute, rollup FROM rollups WHERE owner = ? AND name = ? AND minute >= ? AND minute < ?",
    ...[owner, name, from, to],
  );
  return sumSteps(
    window,
    observed,
    rows.map(({ minute, rollup }): MinuteRollup => [minute, rollup]),
  );
};

/** Reads the rollups, for the server. Other requests run between the reads of two deployments. */
export const createMetricStore = (file: Pick<ReadOnlyFile, "use">): MetricStore => {
  /** Reads after other requests have run. */
  const read = <T>(query: (db: DatabaseSync) => T): ResultAsync<T, Unavailable> =>
    ResultAsync.fromSafePromise(yieldToEventLoop()).andThen(() => {
      try {
        return okAsync(file.use(query));
      } catch (cause) {
        return errAsync(unavailable("The metrics cannot be read now. Try again.", 5, cause));
      }
    });
  return {
    read: (scopes, window) =>
      safeTry(async function* () {
        const observed = yield* await read((db) => readObserved(db, window));
        const all: (readonly (Rollup | null)[])[] = [];
        for (const scope of scopes) all.push(yield* await read((db) => readSteps(db, scope, window, observed)));
        return ok(all);
      }),
  };
};
