/** The AWS calls of a list of volumes or deployments, and of a signed URL. */

import { aws } from "../../clouds/aws.ts";
import { callTests } from "../../clouds/calls.ts";

/** The account's names, the ETags of all records, and the cached list. */
const services = ["s3.ListObjectsV2", "s3.ListObjectsV2", "s3.GetObject"];

callTests(aws, {
  volumes: { s3: [...services, "s3.GetObject"] },
  deployments: { s3: services },
  buckets: "s3",
});
