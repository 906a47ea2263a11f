/** Uploads in parts on Cloud Storage behave like the model. */
import { startFakeStorage } from "../../../fakes/gcp/storage/index.ts";
import { uploadLifeTests } from "../../../models/upload-life.ts";
import { volumesOver } from "./subject.ts";

uploadLifeTests(
  "Cloud Storage",
  async () => {
    const fake = await startFakeStorage();
    fake.world.partMin = 1;
    return { volumes: volumesOver(fake), close: () => fake.close() };
  },
  20,
);
