/** Volumes in memory agree with the model through any life. */
import fc from "fast-check";
import { test } from "vitest";
import { startMemory } from "../support/providers/memory-platform.ts";
import { liveOut, tickingSystem } from "../support/providers/storage-system.ts";
import { runs, within } from "../support/vitest/runs.ts";
import { storageLife } from "./storage-life.ts";

test("any life of volumes in memory is the model's", { timeout: within() }, async () => {
  await fc.assert(
    fc.asyncProperty(storageLife(), async (life) => {
      const platform = startMemory();
      await liveOut(life, { ...tickingSystem(platform), close: () => platform.memory.close() });
    }),
    runs(60),
  );
});
