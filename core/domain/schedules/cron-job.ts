/** The job that a scheduler runs for a service. A deploy and a restarted engine derive the job by the same rule. */
import type { AccountId } from "../accounts/account.ts";
import type { ServiceTemplate } from "../deploy/service-template.ts";
import type { DeploymentName } from "../wire/names.ts";
import { attemptTimeout } from "./fire-policy.ts";
import type { Schedule } from "./schedule.ts";

/** The schedule of a service, with the data that each fire needs. */
export interface CronJob {
  readonly name: DeploymentName;
  readonly owner: AccountId;
  readonly schedule: Schedule;
  /** Sent as `X-Cron-Token`. */
  readonly token: string;
  /** The URL of the service. */
  readonly url: string;
  /** The timeout of an attempt, in seconds. */
  readonly maxSeconds: number;
}

/**
 * Returns the job for a service, or null if the service has no schedule.
 * @param providerMax the provider's limit for an attempt, in seconds
 */
export const cronJobOf = (
  { name, owner, schedule, cronToken, timeout }: Omit<ServiceTemplate, "image" | "deployId" | "mounts">,
  url: string,
  providerMax: number,
): CronJob | null =>
  schedule === null
    ? null
    : { name, owner, schedule, token: cronToken, url, maxSeconds: attemptTimeout(timeout, providerMax) };
