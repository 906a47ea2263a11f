/** Requests to a process: timeouts, the meaning of its exit, and the request about a statement's text. */
import { type Unavailable, unavailable } from "../../../../core/errors.ts";
import type { SqlFailure } from "../../../../core/ports/sql-engine.ts";
import { err, ok, type Result } from "../../../../core/result.ts";
import { ScriptMissing } from "../../runtime/packaged-script.ts";
import { ChildTrapped, ProcessEnded, type SqlChild } from "./child.ts";
import { Busy } from "./pool.ts";
import type { SqlNews, TextOrder } from "./protocol.ts";

export type Failed = SqlFailure | Unavailable;

/** Timeout for parsing. Only hostile statements take longer. */
const TEXT_MS = 10_000;

const outOfMemory: SqlFailure = {
  kind: "failed",
  message: "the query needs too much memory; read fewer rows, or aggregate earlier",
};

export const silent = (cause?: unknown): Unavailable =>
  unavailable("The SQL engine does not respond. Try again.", 2, cause);

const unreadable: SqlFailure = {
  kind: "invalid_statement",
  message: "the statement is too long or nested too deeply for the parser; shorten it",
};

export const failedOf = (error: unknown): Failed => {
  if (error instanceof Busy) return unavailable(error.message, 2, error);
  if (error instanceof ScriptMissing) return unavailable(error.message, 60, error);
  if (error instanceof ChildTrapped) return unreadable;
  return error instanceof ProcessEnded && error.memory ? outOfMemory : silent(error);
};

/** Kills the process at the timeout or when the caller aborts. `isOver` returns which of the two happened. */
export const guard = (child: SqlChild, millis: number, signal: AbortSignal | undefined) => {
  let isOver = false;
  const timer = setTimeout(() => {
    isOver = true;
    child.kill();
  }, millis);
  const abort = () => child.kill();
  signal?.addEventListener("abort", abort);
  if (signal?.aborted === true) abort();
  return {
    get isOver() {
      return isOver;
    },
    end: () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    },
  };
};

/** Returns the process's result for a statement's text. Throws `ChildTrapped`. */
export const askAboutText = async (
  child: SqlChild,
  order: TextOrder,
  signal: AbortSignal | undefined,
): Promise<Result<SqlNews, Failed>> => {
  const watch = guard(child, TEXT_MS, signal);
  try {
    for await (const news of child.tell(order)) return news.kind === "failure" ? err(news.failure) : ok(news);
    return err(silent());
  } catch (error) {
    if (error instanceof ChildTrapped) throw error;
    return err(watch.isOver ? { kind: "timeout" } : failedOf(error));
  } finally {
    watch.end();
  }
};
