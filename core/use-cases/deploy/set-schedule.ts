/** The schedule phase: sets or removes the schedule after the new revision serves. */
import { deploying } from "../../domain/deploy/events.ts";
import { type DeployPlan, describeSchedule } from "../../domain/deploy/plan.ts";
import { cronJobOf } from "../../domain/schedules/cron-job.ts";
import { err, ok } from "../../result.ts";
import { withinDeadline } from "../pipeline/within-deadline.ts";
import type { PhaseResult, RunContext } from "./phase.ts";
import type { RolledOut } from "./roll-out.ts";

/**
 * Sets the schedule of the plan. If the plan has no schedule, every update removes the service's schedule, even if the
 * current template has none, because an earlier deploy may have been interrupted between its rollout and this phase.
 */
export const setSchedule = async (
  { ports, settings: { deployLimits: limits }, run }: RunContext,
  plan: DeployPlan,
  { url, cronToken }: RolledOut,
): Promise<PhaseResult<void>> => {
  const { capabilities, scheduler } = ports.provider;
  const { name, owner } = plan.spec;
  const job = cronJobOf({ ...plan.spec, cronToken }, url, capabilities.cron.max_seconds);
  if (job === null && (plan.action === "create" || !capabilities.cron.schedules.supported)) return ok(undefined);
  const set = await withinDeadline(ports.clock, limits.scheduleDeadlineMs, (signal) =>
    job === null ? scheduler.remove({ name, owner }, { signal }) : scheduler.put(job, { signal }),
  );
  if (set === undefined || set.isErr()) {
    const why =
      set === undefined ? `The provider took longer than ${limits.scheduleDeadlineMs / 1000} s.` : set.error.message;
    const message =
      job === null
        ? `The new revision serves, but the schedule could not be removed: ${why} Deploy again to remove it.`
        : `The new revision serves, but its schedule could not be set: ${why} Deploy again to set it.`;
    return err({ reason: "schedule_failed", message });
  }
  for (const message of describeSchedule(plan)) run.emit(deploying(message));
  return ok(undefined);
};
