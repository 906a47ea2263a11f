/** A server repeats the resumption of redeploys until it succeeds. */
import { expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { unavailable } from "../../../../core/errors.ts";
import { errAsync, okAsync } from "../../../../core/result.ts";
import { resumeRedeploys } from "../../../../hosts/cli/server/resume-redeploys.ts";

const MINUTE = 60_000;

/** A control plane whose resumption fails for the first calls. */
const open = (failures: number) => {
  const clock = createManualClock();
  const stopping = new AbortController();
  const logged: string[] = [];
  const log = (_: object, message: string) => void logged.push(message);
  let calls = 0;
  const controlPlane = {
    resumeRedeploys: () => (calls++ < failures ? errAsync(unavailable("The cloud is down.", 5)) : okAsync(2)),
  };
  const done = resumeRedeploys({ controlPlane, clock, log: { info: log, warn: log }, stopping: stopping.signal });
  return { clock, done, logged, stop: () => stopping.abort(), calls: () => calls };
};

test("repeats a failed resumption after pauses that double up to an hour", async () => {
  const { clock, done, logged, calls } = open(9);
  const pauses = [1, 2, 4, 8, 16, 32, 60, 60, 60];
  for (const [index, minutes] of pauses.entries()) {
    await clock.advance(minutes * MINUTE - 1);
    expect(calls()).toBe(index + 1);
    await clock.advance(1);
    expect(calls()).toBe(index + 2);
  }
  await done;
  expect(logged).toHaveLength(pauses.length + 1);
  expect(logged.at(-1)).toBe("resumed the redeploys for new values of secrets");
});

test("ends when it succeeds, and when the server stops", async () => {
  const first = open(0);
  await first.done;
  expect(first.calls()).toBe(1);
  const stopped = open(Number.POSITIVE_INFINITY);
  await stopped.clock.advance(MINUTE);
  expect(stopped.calls()).toBe(2);
  stopped.stop();
  await stopped.done;
  await stopped.clock.advance(10 * MINUTE);
  expect(stopped.calls()).toBe(2);
});
