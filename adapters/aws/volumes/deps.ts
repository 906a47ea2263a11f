/** Dependencies of the volume store's modules. */
import type { AwsRuntimeDeps } from "../call-policy.ts";
import type { AwsConfig } from "../config.ts";
import type { FileSystems } from "./files/file-systems.ts";
import type { Marks } from "./marks.ts";
import type { Records } from "./records.ts";
import type { S3Api } from "./s3-calls.ts";

export interface VolumeDeps extends AwsRuntimeDeps {
  readonly api: S3Api;
  readonly records: Records;
  readonly marks: Marks;
  readonly files: FileSystems;
  readonly config: AwsConfig;
}
