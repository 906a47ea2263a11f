/** Dependencies of the volume store's modules. */
import type { Clock, Ids, Logger } from "../../../core/ports/system.ts";
import type { GcpConfig } from "../config.ts";
import type { Buckets } from "./buckets.ts";
import type { Claims } from "./claims.ts";
import type { StorageApi } from "./storage-calls.ts";

export interface VolumeDeps {
  readonly api: StorageApi;
  readonly buckets: Buckets;
  readonly claims: Claims;
  readonly config: GcpConfig;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}
