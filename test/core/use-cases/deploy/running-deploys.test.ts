/** A replica keeps its ended deploys for an hour, and releases their resources. */
import { expect, test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import { deployLimits } from "../../../../core/domain/accounts/limits.ts";
import { building, failed } from "../../../../core/domain/deploy/events.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { RunningDeploys } from "../../../../core/use-cases/deploy/running-deploys.ts";

const identity = { owner: "acme" as AccountId, name: "app" as DeploymentName };

const finished = (runs: RunningDeploys, deployId: string, message = "Compiling"): void => {
  const run = runs.begin({ ...identity, deployId });
  run.emit(building(message));
  run.emit(failed({ reason: "internal", message: "no" }));
  run.settle();
};

test("an ended deploy is remembered for exactly an hour", async () => {
  const clock = createManualClock();
  const runs = new RunningDeploys(clock, deployLimits, 1);
  finished(runs, "d1");
  await clock.advance(3_600_000 - 1);
  expect(runs.find("d1")).toBeDefined();
  await clock.advance(1);
  expect(runs.find("d1")).toBeUndefined();
});

test("drops large ended deploys before their hour, oldest first", () => {
  const runs = new RunningDeploys(createManualClock(), deployLimits, 1);
  finished(runs, "old", "x".repeat(40 * 1024 * 1024));
  finished(runs, "new", "x".repeat(40 * 1024 * 1024));
  expect(runs.find("old")).toBeUndefined();
  expect(runs.find("new")).toBeDefined();
});

test("never drops a running deploy, however many records it has", () => {
  const runs = new RunningDeploys(createManualClock(), deployLimits, 1);
  runs.begin({ ...identity, deployId: "running" }).emit(building("x".repeat(80 * 1024 * 1024)));
  finished(runs, "small");
  expect(runs.find("running")).toBeDefined();
  expect(runs.find("small")).toBeDefined();
  expect(runs.active(identity.owner, identity.name).map(({ deployId }) => deployId)).toEqual(["running"]);
});

test("an ended deploy has no timers, so that a server can stop immediately", async () => {
  const inner = createManualClock();
  let asleep = 0;
  const clock: Clock = {
    now: inner.now,
    sleep: async (millis, signal) => {
      asleep++;
      await inner.sleep(millis, signal);
      asleep--;
    },
  };
  const runs = new RunningDeploys(clock, deployLimits, 1);
  const run = runs.begin({ ...identity, deployId: "d1" });
  run.emit(building("Compiling"));
  await inner.advance(0);
  expect(asleep).toBe(1);
  run.emit(failed({ reason: "internal", message: "no" }));
  run.settle();
  await inner.advance(0);
  expect(asleep).toBe(0);
});
