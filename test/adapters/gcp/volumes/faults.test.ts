/** Injects a fault at every Cloud Storage call for a volume (`volume-faults.ts`). */
import { Storage } from "@google-cloud/storage";
import { expect } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { startFakeStorage } from "../../../fakes/gcp/storage/index.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import { startMemory } from "../../../support/providers/memory-platform.ts";
import { type VolumeStage, volumeFaultTests } from "../../../support/providers/volume-faults.ts";
import { volumesOver } from "./subject.ts";

const setStage = async (): Promise<VolumeStage> => {
  const clock = createManualClock();
  const fake = await startFakeStorage({ clock });
  const volumes = volumesOver(fake, { clock });
  const { controlPlane, principal, memory } = startMemory({ clock, around: () => ({ volumes }) });
  const living = () => [...fake.world.live.keys()].filter((one) => one.startsWith("ps-"));
  return {
    faults: fake.faults,
    clock,
    controlPlane,
    acme: principal(),
    idle: () => volumes.idle(),
    fill: async (paths) => {
      const [bucket] = living();
      if (bucket === undefined) throw new Error("there is no volume");
      const storage = new Storage(fake.storageClientOptions);
      await Promise.all(paths.map((path) => storage.bucket(bucket).file(path).save(path, { resumable: false })));
    },
    onlyBucket: (id) => {
      expect(living()).toEqual([id]);
      expect(fake.world.deleted.filter((one) => one.labels["portside-state"] !== "making")).toEqual([]);
      return [...(fake.world.live.get(id)?.objects.keys() ?? [])];
    },
    outOfReach: () => expect(living()).toEqual([]),
    [Symbol.asyncDispose]: async () => {
      await whileTicking(clock, volumes.idle());
      await Promise.all([fake.close(), memory.close()]);
    },
  };
};

volumeFaultTests(/Google/, setStage);
