/** How many calls of Amazon's services an answer costs. */

import { aws } from "../../clouds/aws.ts";
import { callTests } from "../../clouds/calls.ts";

/** The account's names, every record's etag, and the records as they were listed last. */
const services = ["s3.ListObjectsV2", "s3.ListObjectsV2", "s3.GetObject"];

callTests(aws, {
  volumes: { s3: [...services, "s3.GetObject"] },
  deployments: { s3: services },
  buckets: "s3",
});
