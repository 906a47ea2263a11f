/** `Scheduler` on EventBridge Scheduler: one schedule per deployment, or two if its expression needs them. */
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { Scheduler } from "../../../core/ports/scheduler.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { ok, type Result, type ResultAsync, safeTry } from "../../../core/result.ts";
import { type CallState, isCallState } from "../../cloud/calls/provider-call.ts";
import { type AwsRuntimeDeps, awsCalls, commandSender, isState, missingAsOk } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { AwsConfig } from "../config.ts";
import { parseSchedule, type RenderedSchedule, renderSchedules, scheduleNames } from "./job.ts";

/** Maximum calls per write. With concurrent writes, an update may find no schedule, and a create may find one. */
const MAX_TRIES = 3;

const toUnavailable = (error: CallState | Unavailable): Unavailable =>
  isCallState(error)
    ? unavailable(
        "EventBridge Scheduler rejected a request about the schedule. The operator can find the reason in the server's log.",
        60,
        error.error,
      )
    : error;

export const createAwsScheduler = (
  { shared }: Pick<AwsConfig, "shared">,
  clients: ClientSource,
  runtime: AwsRuntimeDeps,
): Scheduler => {
  const send = commandSender("scheduler", "scheduler", clients, awsCalls(runtime), { abortRequests: false });

  /**
   * Creates or replaces a schedule. Schedules have no ETag, so this write is unconditional. The server runs the
   * rollouts of a name one after another, and each rollout ends after this write. "Uses all values, including empty
   * values" (API_UpdateSchedule): omitted fields get their defaults, so an update enables a paused schedule.
   */
  const put = async (schedule: RenderedSchedule, options: CallOptions): Promise<Result<void, Unavailable>> => {
    let last: Result<unknown, CallState | Unavailable> = await send("UpdateScheduleCommand", schedule, options);
    for (let tries = 1; tries < MAX_TRIES && last.isErr(); tries++) {
      if (isState(last, "not_found")) last = await send("CreateScheduleCommand", schedule, options);
      // ConflictException: the schedule already exists, or another writer is changing it.
      else if (isState(last, "exists", "changed")) last = await send("UpdateScheduleCommand", schedule, options);
      else break;
    }
    return last.map(() => undefined).mapErr(toUnavailable);
  };

  const remove = (Name: string, options: CallOptions): ResultAsync<void, Unavailable> =>
    send("DeleteScheduleCommand", { Name, GroupName: shared.scheduleGroup }, options)
      .map(() => undefined)
      .orElse(missingAsOk)
      .mapErr(toUnavailable);

  return {
    put: (job, options = {}) =>
      safeTry(async function* () {
        const schedules = renderSchedules(shared, job, runtime.clock.now());
        for (const schedule of schedules) yield* await put(schedule, options);
        // An earlier expression may have had a second schedule, which must stop firing.
        return schedules.length === 2 ? ok(undefined) : remove(scheduleNames(job)[1], options);
      }),

    remove: (service, options = {}) => {
      const [first, second] = scheduleNames(service);
      // `find` reads the first schedule. Deleting it last keeps an interrupted removal visible.
      return remove(second, options).andThen(() => remove(first, options));
    },

    find: (service, options = {}) =>
      send("GetScheduleCommand", { Name: scheduleNames(service)[0], GroupName: shared.scheduleGroup }, options)
        .map(({ Target }) => parseSchedule(service, Target?.Input))
        .orElse((error) => missingAsOk(error).map(() => null))
        .mapErr(toUnavailable),
  };
};
