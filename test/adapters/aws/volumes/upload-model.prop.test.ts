/** Uploads in parts on S3 behave like the model. */
import { startFakeS3 } from "../../../fakes/aws/s3/index.ts";
import { STATE_BUCKET } from "../../../fakes/aws/test-config.ts";
import { uploadLifeTests } from "../../../models/upload-life.ts";
import { volumesOver } from "./subject.ts";

uploadLifeTests(
  "S3",
  async () => {
    const fake = await startFakeS3({ buckets: [STATE_BUCKET] });
    fake.world.partMin = 1;
    return { volumes: volumesOver(fake), close: () => fake.close() };
  },
  20,
);
