/** Releases on this machine behave like the model: the process that serves has the source and the variables. */
import fc from "fast-check";
import { test } from "vitest";
import { releaseLife } from "../../models/release-life.ts";
import { startLocal } from "../../support/providers/local-platform.ts";
import { runningReleases, runReleaseLife } from "../../support/providers/release-system.ts";
import { runs, within } from "../../support/vitest/runs.ts";

test("agrees with the model after any commands", { timeout: within() }, async () => {
  await fc.assert(
    fc.asyncProperty(releaseLife(20), async (life) => {
      const platform = await startLocal({ runner: "process" }, {}, { keepsImages: true });
      await runReleaseLife(life, {
        ...runningReleases(platform.controlPlane),
        close: () => platform[Symbol.asyncDispose](),
      });
    }),
    runs(4),
  );
});
