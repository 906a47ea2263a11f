/** Volumes on this machine behave like the model, with services that really mount them. */
import fc from "fast-check";
import { test } from "vitest";
import { storageLife } from "../../models/storage-life.ts";
import { startLocal } from "../../support/providers/local-platform.ts";
import { runLife, runningSystem } from "../../support/providers/storage-system.ts";
import { runs, within } from "../../support/vitest/runs.ts";

test("agrees with the model for any sequence of operations", { timeout: within() }, async () => {
  await fc.assert(
    fc.asyncProperty(storageLife(25), async (life) => {
      const platform = await startLocal({ runner: "process" });
      await runLife(life, {
        ...runningSystem(platform.controlPlane),
        close: async () => platform[Symbol.asyncDispose](),
      });
    }),
    runs(4),
  );
});
