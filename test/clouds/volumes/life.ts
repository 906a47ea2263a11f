/**
 * Any sequence of volume operations on a cloud's storage matches the model; all other ports are the memory provider's.
 */
import fc from "fast-check";
import { test } from "vitest";
import { createManualClock } from "../../../adapters/memory/index.ts";
import type { VolumeStore } from "../../../core/ports/volume-store.ts";
import { storageLife } from "../../models/storage-life.ts";
import { startMemory } from "../../support/providers/memory-platform.ts";
import { runLife, tickingSystem } from "../../support/providers/storage-system.ts";
import { runs, within } from "../../support/vitest/runs.ts";

interface OpenStorage {
  readonly volumes: VolumeStore;
  close(): Promise<void>;
}

export const volumeLifeTests = (storage: string, open: () => Promise<OpenStorage>): void => {
  const startSystem = async () => {
    const { volumes, close } = await open();
    // The storage checks signatures by the machine's clock. The platform's clock starts at the same time, but tests
    // advance it.
    const clock = createManualClock(new Date().toISOString());
    const platform = startMemory({ clock, around: () => ({ volumes }) });
    return {
      ...tickingSystem(platform),
      close: async () => {
        await Promise.all([close(), platform.memory.close()]);
      },
    };
  };

  test(`any sequence of volume operations on ${storage} matches the model`, { timeout: within() }, async () => {
    await fc.assert(
      fc.asyncProperty(storageLife(30), async (life) => runLife(life, await startSystem())),
      runs(8),
    );
  });
};
