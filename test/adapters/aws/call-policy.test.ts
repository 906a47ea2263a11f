/** The AWS calls that a list of volumes or deployments makes, and those of a signed URL. */

import { aws } from "../../clouds/aws.ts";
import { callTests } from "../../clouds/calls.ts";

/** Lists the account's names and the ETags of all records, and reads the cached list. */
const services = ["s3.ListObjectsV2", "s3.ListObjectsV2", "s3.GetObject"];

callTests(aws, {
  volumes: { s3: [...services, "s3.GetObject"] },
  deployments: { s3: services },
  buckets: "s3",
});
