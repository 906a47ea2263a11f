/** What a clock has to know to call a service: one rule for the deploy that sets it and for an engine that starts again. */
import type { AccountId } from "../accounts/account.ts";
import type { ServiceTemplate } from "../deploy/service-template.ts";
import type { DeploymentName } from "../wire/names.ts";
import { longestRun } from "./fire-policy.ts";
import type { Schedule } from "./schedule.ts";

export interface CronJob {
  readonly name: DeploymentName;
  readonly owner: AccountId;
  readonly schedule: Schedule;
  /** Sent as `X-Cron-Token`. */
  readonly token: string;
  /** Where the service answers. */
  readonly url: string;
  /** The longest run of a fire, in seconds. */
  readonly maxSeconds: number;
}

/**
 * The job of a service that serves; null where it has no schedule.
 * @param providerMost the longest run that the provider allows, in seconds
 */
export const cronJobOf = (
  { name, owner, schedule, cronToken, timeout }: Omit<ServiceTemplate, "image" | "deployId" | "mounts">,
  url: string,
  providerMost: number,
): CronJob | null =>
  schedule === null
    ? null
    : { name, owner, schedule, token: cronToken, url, maxSeconds: longestRun(timeout, providerMost) };
