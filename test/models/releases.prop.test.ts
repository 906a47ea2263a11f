/** Random commands on releases, variables and secrets of the memory provider agree with the model. */
import fc from "fast-check";
import { test } from "vitest";
import { createManualClock, createMemoryProvider } from "../../adapters/memory/index.ts";
import { startMemory } from "../support/providers/memory-platform.ts";
import { runReleaseLife, simulatedReleases } from "../support/providers/release-system.ts";
import { runs, within } from "../support/vitest/runs.ts";
import { releaseLife, retentionLife } from "./release-life.ts";

const retention = { kept: 3, listsPruned: true };

const open = () => {
  const clock = createManualClock();
  const memory = createMemoryProvider({ clock, releasesKept: retention.kept });
  return { ...simulatedReleases(startMemory({ clock, memory }), retention), close: () => memory.close() };
};

test("releases of the memory provider agree with the model after any commands", { timeout: within() }, async () => {
  await fc.assert(
    fc.asyncProperty(releaseLife(), (life) => runReleaseLife(life, open())),
    runs(60),
  );
});

test("rollbacks restore exactly the releases whose images the memory provider keeps", () =>
  runReleaseLife(retentionLife, open()));
