/** The volume store on the fake Cloud Storage. */
import { Storage } from "@google-cloud/storage";
import { clientSource } from "../../../../adapters/gcp/clients.ts";
import type { GcpConfig } from "../../../../adapters/gcp/config.ts";
import { createGcpVolumes, type GcpVolumes } from "../../../../adapters/gcp/volumes/volume-store.ts";
import { memoryCapabilities } from "../../../../adapters/memory/capabilities.ts";
import { createSystemClock, randomIds } from "../../../../adapters/shared/runtime/system.ts";
import { type Capabilities, missing } from "../../../../core/domain/wire/capabilities.ts";
import type { Clock, Ids, Logger } from "../../../../core/ports/system.ts";
import type { FakeStorage } from "../../../fakes/gcp/storage/index.ts";
import { gcpConfig } from "../../../fakes/gcp/test-project.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";

/** Volume capabilities of Cloud Storage. */
export const storageCapabilities: Capabilities = {
  ...memoryCapabilities,
  volumes: {
    ...memoryCapabilities.volumes,
    conditional_uploads: missing("Cloud Storage evaluates If-Match and If-None-Match on reads, not on uploads"),
  },
};

export interface VolumesOptions {
  readonly config?: Partial<GcpConfig>;
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly logger?: Logger;
  readonly storage?: Storage;
}

export const volumesOver = (
  fake: Pick<FakeStorage, "storageClientOptions">,
  options: VolumesOptions = {},
): GcpVolumes => {
  const { clock = createSystemClock(), ids = randomIds, logger = silentLogger } = options;
  const storage = options.storage ?? new Storage(fake.storageClientOptions);
  const config = { ...gcpConfig, ...options.config };
  return createGcpVolumes(config, clientSource(config.project, { storage }), { clock, ids, logger });
};
