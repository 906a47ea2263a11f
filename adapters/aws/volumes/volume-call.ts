/** The dependencies of one call of the volume store. */
import type { CallOptions } from "../../../core/ports/system.ts";
import type { AwsRuntimeDeps } from "../call-policy.ts";
import type { AwsConfig } from "../config.ts";
import type { FileSystems } from "./files/file-systems.ts";
import { Marks } from "./marks.ts";
import { createRecords, type Records } from "./records.ts";
import { S3Api, type S3ApiDeps } from "./s3-calls.ts";

export interface VolumeStoreDeps extends AwsRuntimeDeps {
  readonly s3: S3ApiDeps;
  readonly files: FileSystems;
  readonly config: AwsConfig;
}

/** One call by an account. `api`, `records` and `marks` act for this account, and stop when the call is aborted. */
export interface VolumeCall extends VolumeStoreDeps {
  /** The digest of the account. */
  readonly account: string;
  readonly options: CallOptions;
  readonly api: S3Api;
  readonly records: Records;
  readonly marks: Marks;
}

export const volumeCall = (deps: VolumeStoreDeps, account: string, options: CallOptions = {}): VolumeCall => {
  const api = new S3Api(deps.s3, options);
  const { stateBucket: bucket } = deps.config.shared;
  const records = createRecords({ ...deps, api, bucket, account, signal: options.signal });
  return { ...deps, account, options, api, records, marks: new Marks(api, bucket, account) };
};
