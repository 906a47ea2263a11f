/** Background work runs one task at a time for each key. */
import { expect, test } from "vitest";
import { createBackgroundWork, type Task } from "../../../../adapters/cloud/volumes/background-work.ts";
import { unavailable } from "../../../../core/errors.ts";
import { err, ok, ResultAsync } from "../../../../core/result.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";

test("runs the tasks of a key in sequence, even after a failure, and ignores new tasks while they run", async () => {
  const steps: string[] = [];
  const task = (volume: string, fails = false): Task => ({
    volume,
    run: () => {
      steps.push(`${volume} begins`);
      const ended = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
        steps.push(`${volume} ends`);
        return fails ? err(unavailable("The cloud is busy.")) : ok(undefined);
      });
      return new ResultAsync(ended);
    },
  });
  const work = createBackgroundWork(silentLogger);
  work.start("account", [task("a", true), task("b")]);
  work.start("account", [task("c")]);
  await work.idle();
  expect(steps).toEqual(["a begins", "a ends", "b begins", "b ends"]);
  work.start("account", [task("c")]);
  await work.idle();
  expect(steps.slice(4)).toEqual(["c begins", "c ends"]);
});
