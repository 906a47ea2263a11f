/** `Scheduler` on EventBridge Scheduler: one schedule per deployment, two if its expression sets both day fields. */
import type { CronJob } from "../../../core/domain/schedules/cron-job.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { ScheduledService, Scheduler } from "../../../core/ports/scheduler.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result, ResultAsync } from "../../../core/result.ts";
import { type CallState, isCallState, type ProviderCall } from "../../shared/calls/provider-call.ts";
import { type AwsRuntimeDeps, awsCalls } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { AwsConfig } from "../config.ts";
import { parseSchedule, type RenderedSchedule, renderSchedules, SCHEDULE_GROUP, scheduleNames } from "./job.ts";

const load = () => import("@aws-sdk/client-scheduler");

/** Limits the retries: with concurrent writes, an update may find no schedule, and a create may find one. */
const MAX_TURNS = 3;

type Called<T> = Result<T, CallState | Unavailable>;

const isState = (called: Called<unknown>, ...codes: readonly CallState["code"][]): boolean =>
  called.isErr() && isCallState(called.error) && codes.includes(called.error.code);

const refused = (error: CallState | Unavailable): Unavailable =>
  isCallState(error) ? unavailable("EventBridge Scheduler rejected the schedule.", 60, error.error) : error;

class AwsScheduler implements Scheduler {
  readonly #config: AwsConfig;
  readonly #clients: ClientSource;
  readonly #runtime: AwsRuntimeDeps;
  readonly #call: ProviderCall;

  constructor(config: AwsConfig, clients: ClientSource, runtime: AwsRuntimeDeps) {
    this.#config = config;
    this.#clients = clients;
    this.#runtime = runtime;
    this.#call = awsCalls(runtime);
  }

  put(job: CronJob, options: CallOptions = {}): ResultAsync<void, Unavailable> {
    const [, second] = scheduleNames(job);
    const put = async (): Promise<Result<void, Unavailable>> => {
      const schedules = renderSchedules(this.#config.shared, job, this.#runtime.clock.now());
      for (const schedule of schedules) {
        const done = await this.#put(schedule, options);
        if (done.isErr()) return done;
      }
      // An earlier expression may have had a second schedule, which must stop firing.
      return schedules.length === 2 ? ok(undefined) : this.#remove(second, options);
    };
    return new ResultAsync(put());
  }

  remove(service: ScheduledService, options: CallOptions = {}): ResultAsync<void, Unavailable> {
    const [first, second] = scheduleNames(service);
    // `find` reads the first schedule. Deleting it last keeps an interrupted removal visible.
    const removed = async () => {
      const done = await this.#remove(second, options);
      return done.isErr() ? done : this.#remove(first, options);
    };
    return new ResultAsync(removed());
  }

  find(service: ScheduledService, { signal }: CallOptions = {}): ResultAsync<CronJob | null, Unavailable> {
    const found = async (): Promise<Result<CronJob | null, Unavailable>> => {
      const client = await this.#clients("scheduler");
      const { GetScheduleCommand } = await load();
      const [Name] = scheduleNames(service);
      const got = await this.#call({ what: "scheduler:GetSchedule", signal }, () =>
        client.send(new GetScheduleCommand({ Name, GroupName: SCHEDULE_GROUP })),
      );
      if (got.isOk()) return ok(parseSchedule(service, got.value.Target?.Input));
      return isState(got, "not_found") ? ok(null) : err(refused(got.error));
    };
    return new ResultAsync(found());
  }

  /** Schedules have no ETag. They need none, because a deploy holds the name while it writes the schedule. */
  async #put(schedule: RenderedSchedule, options: CallOptions): Promise<Result<void, Unavailable>> {
    let last = await this.#update(schedule, options);
    for (let turn = 1; turn < MAX_TURNS && last.isErr(); turn++) {
      if (isState(last, "not_found")) last = await this.#create(schedule, options);
      // ConflictException: the schedule already exists, or another writer is changing it.
      else if (isState(last, "exists", "changed")) last = await this.#update(schedule, options);
      else break;
    }
    return last.isOk() ? ok(undefined) : err(refused(last.error));
  }

  /**
   * "Uses all values, including empty values" (API_UpdateSchedule): omitted fields get their defaults, so this enables
   * a paused schedule.
   */
  async #update(schedule: RenderedSchedule, { signal }: CallOptions): Promise<Called<unknown>> {
    const client = await this.#clients("scheduler");
    const { UpdateScheduleCommand } = await load();
    return this.#call({ what: "scheduler:UpdateSchedule", signal }, () =>
      client.send(new UpdateScheduleCommand(schedule)),
    );
  }

  async #create(schedule: RenderedSchedule, { signal }: CallOptions): Promise<Called<unknown>> {
    const client = await this.#clients("scheduler");
    const { CreateScheduleCommand } = await load();
    return this.#call({ what: "scheduler:CreateSchedule", signal }, () =>
      client.send(new CreateScheduleCommand(schedule)),
    );
  }

  async #remove(Name: string, { signal }: CallOptions): Promise<Result<void, Unavailable>> {
    const client = await this.#clients("scheduler");
    const { DeleteScheduleCommand } = await load();
    const done = await this.#call({ what: "scheduler:DeleteSchedule", signal }, () =>
      client.send(new DeleteScheduleCommand({ Name, GroupName: SCHEDULE_GROUP })),
    );
    return done.isOk() || isState(done, "not_found") ? ok(undefined) : err(refused(done.error));
  }
}

export const createAwsScheduler = (config: AwsConfig, clients: ClientSource, runtime: AwsRuntimeDeps): Scheduler =>
  new AwsScheduler(config, clients, runtime);
