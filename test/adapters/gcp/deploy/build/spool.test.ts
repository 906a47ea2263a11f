/** Sources in the staging bucket. */

import { createBucketSpool } from "../../../../../adapters/cloud/deploy/build/bucket-spool.ts";
import { googleCalls } from "../../../../../adapters/gcp/call-policy.ts";
import { gcsSpool } from "../../../../../adapters/gcp/deploy/build/spool-bucket.ts";
import { clientSource, createGcpProvider } from "../../../../../adapters/gcp/index.ts";
import { gcp } from "../../../../clouds/gcp.ts";
import { spoolTests } from "../../../../clouds/spool.ts";
import { PROJECT, STAGING_BUCKET } from "../../../../fakes/gcp/test-project.ts";

await spoolTests({
  ...gcp,
  provide: (fakes, dataDir, deps) =>
    createGcpProvider({ ...fakes.config(dataDir), sourceSpool: "bucket" }, { ...deps, random: () => 0 }),
  spool: (fakes, deps, pieceBytes) => {
    const clients = clientSource(PROJECT, fakes.config("").clients);
    const call = googleCalls({ ...deps, random: () => 0 });
    return createBucketSpool(gcsSpool(STAGING_BUCKET, clients, call), deps, pieceBytes);
  },
  bucketOf: ({ faults }) => faults.storage,
  objectsOf: ({ storage }) => [...storage.bucket(STAGING_BUCKET).objects.keys()],
  unfinished: ({ uploads }) => uploads.unfinished,
  copies: "storage.objects.rewrite",
  uploads: ["storage.objects.insert", "storage.objects.insert.chunk"],
});
