/** Port for schedules. When a schedule fires, its service receives `POST /cron`. */
import type { AccountId } from "../domain/accounts/account.ts";
import type { CronJob } from "../domain/schedules/cron-job.ts";
import type { DeploymentName } from "../domain/wire/names.ts";
import type { NotFound, Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/** Identifies a service by name and owner. */
export interface ScheduledService {
  readonly name: DeploymentName;
  readonly owner: AccountId;
}

/** Stores the schedules of services and fires them. */
export interface Scheduler {
  /**
   * Sets the schedule of a service. Replaces an earlier schedule, which must not fire afterwards.
   *
   * At each scheduled time, the service must receive `POST /cron` at least once, with the headers `X-Cron-Token` (the
   * job's token) and `X-Cron-Time` (the scheduled time). A provider whose scheduler sends the scheduled time in a
   * different header may use that header instead. If an attempt gets no response or a 5xx, the scheduler must retry
   * after the delays of `fireLimits`, unless the next scheduled time is earlier. Fires may overlap. The scheduler
   * may skip a fire that would start more than `fireLimits.lateness` late.
   */
  put(job: CronJob, options?: CallOptions): ResultAsync<void, Unavailable>;
  /**
   * Starts a fire of a service's schedule now, with the current time as its scheduled time, and does not wait for its
   * outcome. The fire follows the rules of scheduled fires, and does not delay them. Fails with `not_found` if the
   * service has no schedule. Must be present if the provider declares `cron.fire`.
   *
   * Must fail with `unavailable` if the schedule has too many requested fires that have not ended (`mayRequestFire`).
   *
   * Each attempt's log entry and the service's `lastFire` must contain the id.
   */
  fire?(service: ScheduledService, fireId: string, options?: CallOptions): ResultAsync<void, NotFound | Unavailable>;
  /**
   * Removes the schedule of a service. Succeeds if the service has no schedule. Must not end fires that have started.
   */
  remove(service: ScheduledService, options?: CallOptions): ResultAsync<void, Unavailable>;
  /** Returns the schedule of a service, or null if the service has no schedule. */
  find(service: ScheduledService, options?: CallOptions): ResultAsync<CronJob | null, Unavailable>;
}
