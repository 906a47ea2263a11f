/** What the parts of the volume store work with. */
import type { AccountId } from "../../../core/domain/account.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { CallOptions, Clock, Ids, Logger } from "../../../core/ports/system.ts";
import type { Result } from "../../../core/result.ts";
import type { GcpConfig } from "../config.ts";
import type { StorageApi } from "./api.ts";
import type { Buckets } from "./buckets.ts";
import type { Claims } from "./claims.ts";

/** The e-mail of the service account that the account's services run as; it is there when this is answered. */
export type IdentityOf = (owner: AccountId, options: CallOptions) => Promise<Result<string, Unavailable>>;

export interface Parts {
  readonly api: StorageApi;
  readonly buckets: Buckets;
  readonly claims: Claims;
  readonly config: GcpConfig;
  readonly identityOf: IdentityOf;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}
