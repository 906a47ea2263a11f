/** The capabilities and limits of volumes on S3. */
import { type Capabilities, missing, offered } from "../../../core/domain/wire/capabilities.ts";

export const awsVolumes: Capabilities["volumes"] = {
  mounts: offered(
    "S3 Files: a service reads and writes as root, whoever it runs as, but with a sub_path of more than four levels, 99 characters or odd ones as itself; a file that changed on both sides at once is the bucket's",
  ),
  store: offered(),
  read_only: offered(),
  flat_namespace: true,
  case_preserving: true,
  conditional_uploads: offered(),
  unsized_uploads: missing(
    "S3 wants to know an object's length before its bytes; the command line keeps standard input on disk until it is known",
  ),
  head_downloads: missing("a URL that S3 signs is good for one method"),
  // S3 Files exports a file once it has had no writes for a minute, and the export takes time:
  // https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-files-synchronization.html
  visible_seconds: 120,
};
