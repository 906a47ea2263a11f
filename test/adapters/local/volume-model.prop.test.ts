/** Volumes on this machine agree with the model through any life, with services that really mount them. */
import fc from "fast-check";
import { test } from "vitest";
import { storageLife } from "../../models/storage-life.ts";
import { startLocal } from "../../support/providers/local-platform.ts";
import { liveOut, runningSystem } from "../../support/providers/storage-system.ts";
import { runs, within } from "../../support/vitest/runs.ts";

test("any life of volumes on one machine is the model's", { timeout: within() }, async () => {
  await fc.assert(
    fc.asyncProperty(storageLife(25), async (life) => {
      const platform = await startLocal({ runner: "process" });
      await liveOut(life, {
        ...runningSystem(platform.controlPlane),
        close: async () => platform[Symbol.asyncDispose](),
      });
    }),
    runs(4),
  );
});
