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

const cancelled = (): Unavailable => unavailable("The query was cancelled.", 1);

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

/**
 * How long a request may continue after its caller has aborted. Starting a process takes seconds on a busy machine, so
 * a cancelled request that is almost done must not end the account's process.
 */
const ABORT_GRACE_MS = 1000;

/** Kills the process at the timeout, or soon after the caller aborts. `isOver` is true after the timeout. */
export const guard = (child: SqlChild, millis: number, signal: AbortSignal | undefined) => {
  let isOver = false;
  const timer = setTimeout(() => {
    isOver = true;
    child.kill();
  }, millis);
  let grace: NodeJS.Timeout | undefined;
  const abort = () => {
    grace = setTimeout(() => child.kill(), ABORT_GRACE_MS);
  };
  signal?.addEventListener("abort", abort);
  return {
    get isOver() {
      return isOver;
    },
    [Symbol.dispose]: () => {
      clearTimeout(timer);
      clearTimeout(grace);
      signal?.removeEventListener("abort", abort);
    },
  };
};

/**
 * Runs `work` with a process of the account. Waits up to `timeoutMs` for a free process. If the caller aborts before
 * the process has started, the process stays for the next request.
 */
export const withProcess = <T>(
  pool: SqlPool,
  { owner }: SqlScope,
  timeoutMs: number,
  signal: AbortSignal | undefined,
  work: (child: SqlChild) => Promise<Result<T, Failed>>,
): ResultAsync<T, Failed> =>
  new ResultAsync(
    pool
      .with(owner, { timeoutMs, signal }, async (child) => (signal?.aborted === true ? err(cancelled()) : work(child)))
      .catch((error: unknown) => err<T, Failed>(failedOf(error))),
  );

export const sendTextRequest = (
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
