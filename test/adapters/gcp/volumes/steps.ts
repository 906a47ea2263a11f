/** One fake Cloud Storage per test file, and helpers for it. */

import { afterAll } from "vitest";
import type { StoredVolume } from "../../../../core/ports/volume-store.ts";
import type { VolumeCloud } from "../../../clouds/volumes/races.ts";
import { startFakeStorage } from "../../../fakes/gcp/storage/index.ts";
import { volumesOver } from "./subject.ts";

export const fake = await startFakeStorage();
afterAll(() => fake.close());

/** The volume's bucket in the fake. */
export const bucketOf = ({ id }: StoredVolume) => {
  const bucket = fake.world.live.get(id);
  if (bucket === undefined) throw new Error(`there is no bucket '${id}'`);
  return bucket;
};

export const cloud: VolumeCloud = {
  faults: fake.faults,
  removal: "storage.objects.delete",
  volumes: (options) => volumesOver(fake, options),
  objectsOf: (volume) => bucketOf(volume).objects,
  buckets: () => fake.world.live.size,
};
