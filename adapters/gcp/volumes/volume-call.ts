/** The dependencies of one call of the volume store. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { CallOptions, Clock, Ids, Logger } from "../../../core/ports/system.ts";
import type { GcpConfig } from "../config.ts";
import { createBucket } from "./bucket-settings.ts";
import { Buckets } from "./buckets.ts";
import { Claims } from "./claims.ts";
import { claimsBucket } from "./names.ts";
import { StorageApi, type StorageApiDeps } from "./storage-calls.ts";

export interface VolumeStoreDeps extends StorageApiDeps {
  readonly config: GcpConfig;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

/**
 * One call by an account. `buckets` and `claims` act for this account. The call's signal ends the retries of its
 * requests.
 */
export interface VolumeCall extends VolumeStoreDeps {
  readonly owner: AccountId;
  readonly signal: AbortSignal | undefined;
  readonly api: StorageApi;
  readonly buckets: Buckets;
  readonly claims: Claims;
}

export const volumeCall = (deps: VolumeStoreDeps, owner: AccountId, { signal }: CallOptions = {}): VolumeCall => {
  const { config, clock, ids } = deps;
  const api = new StorageApi(deps, signal);
  const claims = new Claims(api, owner, claimsBucket(config.project), () =>
    createBucket(api, config, { name: claimsBucket(config.project) }).map(() => undefined),
  );
  return { ...deps, owner, signal, api, claims, buckets: new Buckets(api, owner, clock, ids) };
};
