/** Capabilities and limits of volumes on S3, with reasons. */
import { uploadHours } from "../../../core/domain/accounts/limits.ts";
import { type Capabilities, missing, offered } from "../../../core/domain/wire/capabilities.ts";

export const awsVolumes: Capabilities["volumes"] = {
  mounts: offered(
    "S3 Files: a service reads and writes as root, or as its own user if the mount's sub_path has more than four levels, more than 99 characters, special characters or a part that begins with a dot; if a file changes in the bucket and in a mount concurrently, the bucket's version wins",
  ),
  store: offered(),
  read_only: offered(),
  flat_namespace: true,
  case_preserving: true,
  conditional_uploads: offered(),
  unsized_uploads: missing(
    "S3 needs an object's length before its bytes; the command line buffers standard input on disk",
  ),
  resumable_uploads: offered(),
  // S3 rounds the lifecycle rule's one day up to the next midnight UTC (bucket-settings.ts).
  incomplete_upload_hours: uploadHours + 24,
  head_downloads: missing("a signed S3 URL permits only one method"),
  cors: offered(),
  // S3 Files exports a file once it has had no writes for a minute, and the export takes time:
  // https://docs.aws.amazon.com/AmazonS3/latest/userguide/s3-files-synchronization.html
  visible_seconds: 120,
};
