/** Injects a fault at every S3 call for a volume (`volume-faults.ts`). */
import { expect } from "vitest";
import { createManualClock } from "../../../../adapters/memory/index.ts";
import { startFakeS3 } from "../../../fakes/aws/s3/index.ts";
import { startFakeS3Files } from "../../../fakes/aws/s3files/server.ts";
import { STATE_BUCKET } from "../../../fakes/aws/test-config.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import { startMemory } from "../../../support/providers/memory-platform.ts";
import { type VolumeStage, volumeFaultTests } from "../../../support/providers/volume-faults.ts";
import { volumesOver } from "./subject.ts";

const setStage = async (): Promise<VolumeStage> => {
  const clock = createManualClock();
  const fake = await startFakeS3({ clock, buckets: [STATE_BUCKET] });
  const files = await startFakeS3Files({ buckets: fake.world.live });
  const volumes = volumesOver(fake, { clock, files: files.client });
  const { controlPlane, principal, memory } = startMemory({ clock, around: () => ({ volumes }) });
  const { world } = fake;
  const buckets = () => [...world.live.values()].filter(({ name }) => name.startsWith("ps-"));
  const marks = () => [...world.bucket(STATE_BUCKET).objects.keys()].filter((key) => key.startsWith("volume-names/"));
  return {
    faults: fake.faults,
    clock,
    controlPlane,
    acme: principal(),
    cleanUps: ["s3.ListMultipartUploads"],
    idle: () => volumes.idle(),
    fill: async (paths) => {
      const [bucket] = buckets();
      if (bucket === undefined) throw new Error("there is no volume");
      for (const name of paths) world.putObject(bucket, { name, bytes: Buffer.from(name) });
    },
    onlyBucket: (id) => {
      expect(buckets().map(({ name }) => name)).toEqual([id]);
      expect(marks().map((key) => key.split("/").at(-1))).toEqual([id]);
      const bucket = world.bucket(id);
      expect([bucket.policy, bucket.versioning, bucket.publicAccessBlock?.["BlockPublicAcls"]]).toEqual([
        undefined,
        "Enabled",
        true,
      ]);
      expect(bucket.lifecycle.map((rule) => rule.date)).toEqual([undefined, undefined]);
      return [...bucket.objects.keys()];
    },
    outOfReach: () => {
      expect(buckets().map(({ policy }) => policy?.Statement[0]?.Effect)).toEqual(["Deny"]);
      expect(buckets()[0]?.lifecycle.find(({ id }) => id === "portside-trash")?.date).toBeGreaterThan(0);
      expect(marks()).toEqual([]);
    },
    [Symbol.asyncDispose]: async () => {
      await whileTicking(clock, volumes.idle());
      await Promise.all([fake.close(), files.close(), memory.close()]);
    },
  };
};

volumeFaultTests(/Amazon/, setStage);
