/** The volume store on a fake S3. */
import type { S3Client } from "@aws-sdk/client-s3";
import type { S3FilesClient } from "@aws-sdk/client-s3files";
import { clientSource } from "../../../../adapters/aws/clients.ts";
import type { AwsConfig } from "../../../../adapters/aws/config.ts";
import { awsVolumes } from "../../../../adapters/aws/volumes/capabilities.ts";
import { type AwsVolumes, createAwsVolumes } from "../../../../adapters/aws/volumes/volume-store.ts";
import { memoryCapabilities } from "../../../../adapters/memory/capabilities.ts";
import { createSystemClock, randomIds } from "../../../../adapters/shared/runtime/system.ts";
import type { Capabilities } from "../../../../core/domain/wire/capabilities.ts";
import type { Clock, Ids, Logger } from "../../../../core/ports/system.ts";
import { awsConfig } from "../../../fakes/aws/test-config.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";

/** S3's capabilities for volumes. */
export const storageCapabilities: Capabilities = {
  ...memoryCapabilities,
  volumes: {
    ...memoryCapabilities.volumes,
    unsized_uploads: awsVolumes.unsized_uploads,
    head_downloads: awsVolumes.head_downloads,
  },
};

export interface VolumesOptions {
  readonly config?: Partial<AwsConfig>;
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly logger?: Logger;
  readonly files?: S3FilesClient;
}

export const volumesOver = (
  { client: s3 }: { readonly client: S3Client },
  options: VolumesOptions = {},
): AwsVolumes => {
  const { clock = createSystemClock(), ids = randomIds, logger = silentLogger, files } = options;
  const config = { ...awsConfig, ...options.config };
  const clients = clientSource(config.region, { s3, ...(files === undefined ? {} : { files }) });
  return createAwsVolumes(config, clients, { clock, ids, logger });
};
