/** Port for schedules. A service receives `POST /cron` each time its schedule fires. */
import type { AccountId } from "../domain/accounts/account.ts";
import type { CronJob } from "../domain/schedules/cron-job.ts";
import type { DeploymentName } from "../domain/wire/names.ts";
import type { Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

export interface ScheduledService {
  readonly name: DeploymentName;
  readonly owner: AccountId;
}

export interface Scheduler {
  /**
   * Sets the service's schedule and replaces an earlier one, which must not fire afterwards. At each fire the service
   * receives `POST /cron` with `X-Cron-Token` and `X-Cron-Time`, at least once and within the accuracy of the provider.
   * Retries must follow `fire-policy.ts`.
   */
  put(job: CronJob, options?: CallOptions): ResultAsync<void, Unavailable>;
  /** Removes the service's schedule. Succeeds if it has none. Runs that have started continue. */
  remove(service: ScheduledService, options?: CallOptions): ResultAsync<void, Unavailable>;
  /** Returns the service's current schedule, or null. */
  find(service: ScheduledService, options?: CallOptions): ResultAsync<CronJob | null, Unavailable>;
}
