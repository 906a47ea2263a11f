/**
 * Runs the deployed function's text as Lambda does for an asynchronous invocation: with an event, and a context that
 * reports the remaining time.
 */
import { readFileSync } from "node:fs";
import type { ClientHttp2Session } from "node:http2";
import { createRequire } from "node:module";
import { compileFunction } from "node:vm";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../../core/ports/system.ts";

const path = new URL("../../../../adapters/aws/schedules/cron-function.cjs", import.meta.url);

export const cronFunctionText = readFileSync(path, "utf8");

/** "15 minutes": https://docs.aws.amazon.com/lambda/latest/dg/gettingstarted-limits.html */
const TIMEOUT_MS = 900_000;

interface Exports {
  clientOf: () => unknown;
  sleep: (ms: number) => Promise<void>;
  now: () => number;
  handler: (event: unknown, context: { getRemainingTimeInMillis(): number }) => Promise<unknown>;
}

export interface FunctionWorld {
  readonly clock: Clock;
  /** The log client that the function writes to. If absent, writes fail with a permission error. */
  readonly logs?: unknown;
  /** Replaces `node:http2`, which would connect with TLS. */
  readonly http2?: { readonly connect: () => ClientHttp2Session };
  readonly text?: string;
}

const load = createRequire(import.meta.url);

/** Invokes the function once and returns its result. */
export const invokeCron = async ({ clock, logs, http2, text = cronFunctionText }: FunctionWorld, event: unknown) => {
  const exports = {} as Exports;
  const required = (id: string): unknown => (id === "node:http2" && http2 !== undefined ? http2 : load(id));
  compileFunction(text, ["exports", "require"])(exports, required);
  const refusing = { send: () => Promise.reject(Object.assign(new Error("no"), { name: "AccessDeniedException" })) };
  exports.clientOf = () => logs ?? refusing;
  exports.sleep = (ms) => clock.sleep(ms);
  exports.now = () => millisOf(clock.now());
  const ends = exports.now() + TIMEOUT_MS;
  return exports.handler(event, { getRemainingTimeInMillis: () => Math.max(0, ends - exports.now()) });
};
