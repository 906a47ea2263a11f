/** Random storage commands on the memory provider agree with the model. */
import fc from "fast-check";
import { test } from "vitest";
import { startMemory } from "../support/providers/memory-platform.ts";
import { runLife, tickingSystem } from "../support/providers/storage-system.ts";
import { runs, within } from "../support/vitest/runs.ts";
import { storageLife } from "./storage-life.ts";

test("volumes of the memory provider agree with the model after any commands", { timeout: within() }, async () => {
  await fc.assert(
    fc.asyncProperty(storageLife(), async (life) => {
      const platform = startMemory();
      await runLife(life, { ...tickingSystem(platform), close: () => platform.memory.close() });
    }),
    runs(60),
  );
});
