/** Output is read completely and in order, and a writer that is ahead is stopped until the reader has caught up. */
import { setTimeout as sleep } from "node:timers/promises";
import * as fc from "fast-check";
import { expect, test } from "vitest";
import { paceOutput } from "../../../../adapters/local/instances/pace-output.ts";
import { runs } from "../../../support/vitest/runs.ts";

async function* piecesOf(texts: readonly string[]): AsyncGenerator<Buffer> {
  for (const text of texts) yield Buffer.from(text);
}

const busy = (millis: number): void => {
  const until = performance.now() + millis;
  while (performance.now() < until);
};

test("yields every chunk in order", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(fc.string(), { maxLength: 20 }), async (texts) => {
      const taken: string[] = [];
      for await (const piece of paceOutput(piecesOf(texts))) taken.push(piece.toString());
      expect(taken).toEqual(texts);
    }),
    runs(50),
  );
});

test("passes an error of the output to the reader", async () => {
  const broken = (async function* () {
    yield Buffer.from("a");
    throw new Error("the pipe broke");
  })();
  const taken: string[] = [];
  const read = async () => {
    for await (const piece of paceOutput(broken)) taken.push(piece.toString());
  };
  await expect(read()).rejects.toThrow("the pipe broke");
  expect(taken).toEqual(["a"]);
});

test("stops a writer that is ahead, and resumes it when the reader has caught up", async () => {
  let held = false;
  const calls: string[] = [];
  const brake = {
    pause: () => {
      held = true;
      calls.push("pause");
    },
    resume: () => calls.push("resume"),
  };
  const flood = (async function* () {
    while (!held) yield Buffer.from("x");
    while (calls.at(-1) !== "resume") await sleep(1);
  })();
  for await (const _ of paceOutput(flood, brake)) busy(1);
  // On a busy machine, the reader may fall behind more than once.
  expect(calls.join(" ")).toMatch(/^pause resume( pause resume)*$/);
});

test("resumes a stopped writer when its output ends", async () => {
  const calls: string[] = [];
  const brake = { pause: () => calls.push("pause"), resume: () => calls.push("resume") };
  const flood = (async function* () {
    while (calls.length === 0) yield Buffer.from("x");
  })();
  for await (const _ of paceOutput(flood, brake)) busy(1);
  expect(calls).toEqual(["pause", "resume"]);
});

test("never stops a writer that the reader waits for", async () => {
  const calls: string[] = [];
  const brake = { pause: () => calls.push("pause"), resume: () => calls.push("resume") };
  const calm = (async function* () {
    for (let n = 0; n < 30; n++) {
      await sleep(20);
      yield Buffer.from("x");
    }
  })();
  for await (const _ of paceOutput(calm, brake)) expect(calls).toEqual([]);
});
