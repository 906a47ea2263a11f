/** Any sequence of volume operations on Cloud Storage matches the model. */
import { volumeLifeTests } from "../../../clouds/volumes/life.ts";
import { startFakeStorage } from "../../../fakes/gcp/storage/index.ts";
import { volumesOver } from "./subject.ts";

volumeLifeTests("Cloud Storage", async () => {
  const fake = await startFakeStorage();
  return { volumes: volumesOver(fake), close: () => fake.close() };
});
