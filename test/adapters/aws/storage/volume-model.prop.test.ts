/** Any life of volumes on S3 is the model's: the control plane's storage is this store, the rest of it is the memory's. */
import fc from "fast-check";
import { test } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { startFakeS3 } from "../../../fakes/aws/s3/index.ts";
import { STATE_BUCKET } from "../../../fakes/aws/test-config.ts";
import { storageLife } from "../../../models/storage-life.ts";
import { startMemory } from "../../../support/memory-platform.ts";
import { runs, within } from "../../../support/runs.ts";
import { liveOut, tickingSystem } from "../../../support/storage-system.ts";
import { volumesOver } from "./subject.ts";

const startSystem = async () => {
  const fake = await startFakeS3({ buckets: [STATE_BUCKET] });
  // The storage looks at signatures by the machine's clock; the platform's begins there, and then goes its own way.
  const begun = createManualClock(new Date().toISOString());
  const platform = startMemory({ clock: begun, around: () => ({ volumes: volumesOver(fake) }) });
  return {
    ...tickingSystem(platform),
    close: async () => {
      await Promise.all([fake.close(), platform.memory.close()]);
    },
  };
};

test("any life of volumes on S3 is the model's", { timeout: within() }, async () => {
  await fc.assert(
    fc.asyncProperty(storageLife(30), async (life) => liveOut(life, await startSystem())),
    runs(8),
  );
});
