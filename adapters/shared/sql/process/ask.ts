/** Sends requests to a SQL process, enforces timeouts, and converts failures of the process to errors. */
import { sqlLimits } from "../../../../core/domain/accounts/limits.ts";
import { type Unavailable, unavailable } from "../../../../core/errors.ts";
import type { SqlFailure, SqlScope } from "../../../../core/ports/sql-engine.ts";
import { err, ok, type Result, ResultAsync } from "../../../../core/result.ts";
import { ScriptMissing } from "../../runtime/packaged-script.ts";
import { outOfMemory } from "../errors.ts";
import type { Failed } from "../remote.ts";
import { ChildTrapped, ProcessEnded, type SqlChild } from "./child.ts";
import { Busy, type SqlPool } from "./pool.ts";
import type { TextRequest, Translated } from "./protocol.ts";

/** Timeout for parsing. Only hostile statements take longer. */
const TEXT_MS = 10_000;

const silent = (cause?: unknown): Unavailable => unavailable("The SQL engine does not respond. Try again.", 2, cause);

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

/** Kills the process at the timeout or when the caller aborts. `isOver` is true after the timeout. */
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
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    },
  };
};

/** Runs `work` with a process of the account. Waits up to `timeoutMs` for a free process. */
export const withProcess = <T>(
  pool: SqlPool,
  { owner }: SqlScope,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  work: (child: SqlChild) => Promise<Result<T, Failed>>,
): ResultAsync<T, Failed> =>
  new ResultAsync(
    pool.with(owner, { timeoutMs, signal }, work).catch((error: unknown) => err<T, Failed>(failedOf(error))),
  );

export const askAboutText = (
  pool: SqlPool,
  scope: SqlScope,
  request: TextRequest,
  signal: AbortSignal | undefined,
): ResultAsync<Translated, Failed> =>
  withProcess(pool, scope, sqlLimits.timeoutMs, signal, async (child) => {
    using watch = guard(child, TEXT_MS, signal);
    try {
      for await (const reply of child.send(request))
        return reply.kind === "parsed" ? ok(reply) : err(reply.kind === "failure" ? reply.failure : silent(reply));
      return err(silent());
    } catch (error) {
      if (error instanceof ChildTrapped) throw error;
      return err(watch.isOver ? { kind: "timeout" } : failedOf(error));
    }
  });
