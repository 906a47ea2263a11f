/** A silent step repeats its last message every 15 seconds, so clients can detect a dead connection. */
import { expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { deployLimits } from "../../../../core/domain/accounts/limits.ts";
import { building, done, failed } from "../../../../core/domain/deploy/events.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import { RunningDeploy } from "../../../../core/use-cases/deploy/running-deploy.ts";
import { RunningDeploys } from "../../../../core/use-cases/deploy/running-deploys.ts";
import { accepted, recordsOf, startMemory } from "../../../support/providers/memory-platform.ts";

const identity = { deployId: "d1", owner: "acme" as AccountId, name: "app" as DeploymentName };

test("a silent build repeats its current step every 15 s", async () => {
  const platform = startMemory({
    around: ({ builder }, clock) => ({
      builder: {
        build: async function* (request, options) {
          yield { kind: "progress", message: "Compiling" };
          await clock.sleep(50_000);
          yield* builder.build(request, options);
        },
      },
    }),
  });
  const records = await recordsOf(platform, await accepted(platform));
  expect(records.map(({ message, time }) => `${time.slice(17, 19)} ${message}`)).toEqual([
    "00 Deploying as 'app'",
    "00 Compiling",
    "15 Still: Compiling",
    "30 Still: Compiling",
    "45 Still: Compiling",
    "50 Reading the source",
    "50 Creating 'app'",
    "50 Starting revision app-00001",
    "50 Revision app-00001 serves all traffic",
  ]);
});

test("a waiting deploy repeats its message, too", async () => {
  const platform = startMemory({
    around: ({ builder }, clock) => ({
      builder: {
        build: async function* (request, options) {
          await clock.sleep(60_000);
          yield* builder.build(request, options);
        },
      },
    }),
  });
  await accepted(platform);
  const records = await recordsOf(platform, await accepted(platform));
  expect(
    records.filter(({ message }) => message === "Still: Waiting for an earlier deploy of 'app'").length,
  ).toBeGreaterThanOrEqual(3);
});

test("the interval is a setting, and an ended deploy repeats nothing", async () => {
  const clock = createManualClock();
  const runs = new RunningDeploys(clock, { ...deployLimits, heartbeatMs: 1000 }, 1);
  const run = runs.begin(identity);
  run.emit(building("one"));
  await clock.advance(3500);
  expect(run.lastRecord).toMatchObject({ seq: 4, message: "Still: one" });
  run.emit(failed({ reason: "internal", message: "no" }));
  run.settle();
  await clock.advance(60_000);
  expect(run.lastRecord).toMatchObject({ seq: 5, status: "ERROR" });
});

test("a record out of order is a bug and is not recorded", () => {
  const run = new RunningDeploy(createManualClock(), identity);
  expect(() => run.emit(done("https://x", "too early"))).toThrow("begun");
  run.emit(building("one"));
  expect(() => run.emit(done("https://x", "too early"))).toThrow("building");
  expect(run.lastRecord?.seq).toBe(1);
});
