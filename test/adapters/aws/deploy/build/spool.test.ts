/** The source spool in the state bucket. */
import { awsCalls } from "../../../../../adapters/aws/call-policy.ts";
import { s3Spool } from "../../../../../adapters/aws/deploy/build/spool-bucket.ts";
import { clientSource, createAwsProvider } from "../../../../../adapters/aws/index.ts";
import { createBucketSpool } from "../../../../../adapters/cloud/deploy/build/bucket-spool.ts";
import { aws } from "../../../../clouds/aws.ts";
import { spoolTests } from "../../../../clouds/spool.ts";
import { REGION, STATE_BUCKET } from "../../../../fakes/aws/test-config.ts";

await spoolTests({
  ...aws,
  provide: (fakes, dataDir, deps) =>
    createAwsProvider({ ...fakes.config(dataDir), sourceSpool: "bucket" }, { ...deps, random: () => 0 }),
  spool: (fakes, deps, pieceBytes) => {
    fakes.storage.partMin = pieceBytes;
    const clients = clientSource(REGION, fakes.config("").clients);
    const call = awsCalls({ ...deps, random: () => 0 });
    return createBucketSpool(s3Spool(STATE_BUCKET, clients, call), deps, pieceBytes);
  },
  bucketOf: ({ faults }) => faults.s3,
  objectsOf: ({ storage }) => [...storage.bucket(STATE_BUCKET).objects.keys()],
  unfinished: ({ storage }) =>
    [...storage.bucket(STATE_BUCKET).uploads.values()].filter(({ parts }) => parts.size > 0).length,
  copies: "s3.CopyObject",
  uploads: ["s3.PutObject", "s3.CreateMultipartUpload", "s3.UploadPart", "s3.CompleteMultipartUpload"],
  // One mark for the source's tag, and one for the tag that keeps the image.
  records: ["s3.PutObject", "s3.PutObject"],
});
