/** Volumes on Cloud Storage agree with the model through any life; what mounts them is the memory's. */
import fc from "fast-check";
import { test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { ok } from "../../../../core/result.ts";
import { startFakeStorage } from "../../../fakes/gcp/storage/index.ts";
import { storageAccounts, storageLife } from "../../../models/storage-life.ts";
import { emptyModel, type StorageSystem } from "../../../models/storage-model.ts";
import { recordsOf, startMemory, whileTicking } from "../../../support/memory-platform.ts";
import { runs, within } from "../../../support/runs.ts";
import { volumesOver } from "./subject.ts";

const startSystem = async (): Promise<StorageSystem & { close(): Promise<void> }> => {
  const fake = await startFakeStorage();
  // The storage looks at signatures by the machine's clock; the platform's begins there, and then goes its own way.
  const begun = createManualClock(new Date().toISOString());
  const platform = startMemory({ clock: begun, around: () => ({ volumes: volumesOver(fake) }) });
  const { controlPlane, clock, principal, submit } = platform;
  return {
    controlPlane,
    principal,
    deploy: async (account, fields) => {
      const run = await whileTicking(clock, submit(fields, account));
      return run.isErr() ? run.map(() => []) : ok(await recordsOf(platform, run.value));
    },
    pass: () => clock.advance(1),
    close: async () => {
      await Promise.all([fake.close(), platform.memory.close()]);
    },
  };
};

test("any life of volumes on Cloud Storage is the model's", { timeout: within(120_000) }, async () => {
  await fc.assert(
    fc.asyncProperty(storageLife(30), async (life) => {
      const real = await startSystem();
      try {
        await fc.asyncModelRun(() => ({ model: emptyModel(storageAccounts), real }), life);
      } finally {
        await real.close();
      }
    }),
    runs(8),
  );
});
