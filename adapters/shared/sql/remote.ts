/** Limits the duration of a run, for engines that run statements on a cloud. */
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { SqlFailure, SqlRows } from "../../../core/ports/sql-engine.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { err, ok, type Result, ResultAsync } from "../../../core/result.ts";

export type Failed = SqlFailure | Unavailable;

export const invalid = (message: string): SqlFailure => ({ kind: "invalid_statement", message });

/** Thrown to end a run. */
export class Ended extends Error {
  readonly failure: Failed;
  constructor(failure: Failed) {
    super("the query ended");
    this.failure = failure;
  }
}

export async function* each<T>(items: Iterable<T>): AsyncGenerator<T> {
  yield* items;
}

/**
 * Returns the result of `run`, which may throw `Ended` to fail. If the deadline passes or the caller aborts first,
 * returns an error immediately and aborts the signal passed to `run`.
 */
export const withinDeadline = (
  clock: Clock,
  deadline: number,
  signal: AbortSignal | undefined,
  run: (ended: AbortSignal) => Promise<SqlRows>,
): ResultAsync<SqlRows, Failed> => {
  const gone = new AbortController();
  const ended = signal === undefined ? gone.signal : AbortSignal.any([gone.signal, signal]);
  const overdue = clock.sleep(deadline, ended).then((): Result<SqlRows, Failed> => {
    const isLate = signal?.aborted !== true;
    return err(isLate ? { kind: "timeout" } : unavailable("The query was cancelled.", 1));
  });
  const result = run(ended).then(
    (rows) => ok<SqlRows, Failed>(rows),
    (error: unknown) => {
      if (error instanceof Ended) return err(error.failure);
      throw error;
    },
  );
  return new ResultAsync(Promise.race([result, overdue]).finally(() => gone.abort()));
};
