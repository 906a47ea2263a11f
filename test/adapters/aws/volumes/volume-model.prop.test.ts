/** Any sequence of volume operations on S3 matches the model. */
import { volumeLifeTests } from "../../../clouds/volumes/life.ts";
import { startFakeS3 } from "../../../fakes/aws/s3/index.ts";
import { STATE_BUCKET } from "../../../fakes/aws/test-config.ts";
import { volumesOver } from "./subject.ts";

volumeLifeTests("S3", async () => {
  const fake = await startFakeS3({ buckets: [STATE_BUCKET] });
  return { volumes: volumesOver(fake), close: () => fake.close() };
});
