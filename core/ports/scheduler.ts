/** The clock that calls services: at each fire of its schedule a service gets `POST /cron` (contract 4.5). */
import type { AccountId } from "../domain/account.ts";
import type { CronJob } from "../domain/cron-job.ts";
import type { DeploymentName } from "../domain/names.ts";
import type { Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

export interface ScheduledService {
  readonly name: DeploymentName;
  readonly owner: AccountId;
}

export interface Scheduler {
  /**
   * Sets the service's schedule, in place of any before: after it, fires follow this one alone. At each fire, within
   * its provider's accuracy and at least once, the service gets `POST /cron` with `X-Cron-Token` and `X-Cron-Time`;
   * retries follow the fire policy of the core.
   */
  put(job: CronJob, options?: CallOptions): ResultAsync<void, Unavailable>;
  /** Ends the service's schedule; also fine where it has none. Runs that have begun go on. */
  remove(service: ScheduledService, options?: CallOptions): ResultAsync<void, Unavailable>;
  /** The service's schedule as it stands. */
  find(service: ScheduledService, options?: CallOptions): ResultAsync<CronJob | null, Unavailable>;
}
