/** Random commands on releases, variables and secrets of the memory provider agree with the model. */
import fc from "fast-check";
import { test } from "vitest";
import { startMemory } from "../support/providers/memory-platform.ts";
import { runReleaseLife, simulatedReleases } from "../support/providers/release-system.ts";
import { runs, within } from "../support/vitest/runs.ts";
import { releaseLife } from "./release-life.ts";

test("releases of the memory provider agree with the model after any commands", { timeout: within() }, async () => {
  await fc.assert(
    fc.asyncProperty(releaseLife(), async (life) => {
      const platform = startMemory();
      await runReleaseLife(life, { ...simulatedReleases(platform), close: () => platform.memory.close() });
    }),
    runs(60),
  );
});
