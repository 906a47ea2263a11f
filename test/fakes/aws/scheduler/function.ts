/**
 * The function that schedules call, run from the very text that is deployed, as Lambda runs one that is invoked
 * asynchronously: with an event, and a context that says how much time is left.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { compileFunction } from "node:vm";
import { millisOf } from "../../../../core/domain/instant.ts";
import type { Clock } from "../../../../core/ports/system.ts";

const path = new URL("../../../../adapters/aws/scheduler/cron-function.cjs", import.meta.url);

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
  /** Where the function writes entries; without one it fails as where it has no right to. */
  readonly logs?: unknown;
  readonly text?: string;
}

/** Invokes it once; gives what it answers. */
export const invokeCron = async ({ clock, logs, text = cronFunctionText }: FunctionWorld, event: unknown) => {
  const exports = {} as Exports;
  compileFunction(text, ["exports", "require"])(exports, createRequire(import.meta.url));
  const refusing = { send: () => Promise.reject(Object.assign(new Error("no"), { name: "AccessDeniedException" })) };
  exports.clientOf = () => logs ?? refusing;
  exports.sleep = (ms) => clock.sleep(ms);
  exports.now = () => millisOf(clock.now());
  const ends = exports.now() + TIMEOUT_MS;
  return exports.handler(event, { getRemainingTimeInMillis: () => Math.max(0, ends - exports.now()) });
};
