/** `Scheduler` on Cloud Scheduler: one job per deployment. */
import type { CronJob } from "../../../core/domain/schedules/cron-job.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { ScheduledService, Scheduler } from "../../../core/ports/scheduler.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result, ResultAsync } from "../../../core/result.ts";
import { type CallState, isCallState, type ProviderCall } from "../../shared/calls/provider-call.ts";
import { type GoogleRuntimeDeps, googleCalls } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { GcpConfig } from "../config.ts";
import {
  jobName,
  type ProtoJob,
  parentOf,
  parseJob,
  renderedFields,
  renderJob,
  type SchedulerLocation,
} from "./job.ts";

/** Timeout of one call, in milliseconds. */
const CALL_TIMEOUT_MS = 20_000;
const call = { retry: null, timeout: CALL_TIMEOUT_MS } as const;

/** Limits the retries: with concurrent writes, an update may find no job, and a create may find one. */
const MAX_TURNS = 3;

type Called<T> = Result<T, CallState | Unavailable>;

const isState = (called: Called<unknown>, code: CallState["code"]): boolean =>
  called.isErr() && isCallState(called.error) && called.error.code === code;

const refused = (error: CallState | Unavailable): Unavailable =>
  isCallState(error) ? unavailable("Cloud Scheduler rejected the schedule.", 60, error.error) : error;

class GcpScheduler implements Scheduler {
  readonly #location: SchedulerLocation;
  readonly #clients: ClientSource;
  readonly #call: ProviderCall;

  constructor(config: GcpConfig, clients: ClientSource, runtime: GoogleRuntimeDeps) {
    this.#location = config;
    this.#clients = clients;
    this.#call = googleCalls(runtime);
  }

  put(job: CronJob, options: CallOptions = {}): ResultAsync<void, Unavailable> {
    return new ResultAsync(this.#put(renderJob(this.#location, job), options));
  }

  remove(service: ScheduledService, { signal }: CallOptions = {}): ResultAsync<void, Unavailable> {
    const removed = async (): Promise<Result<void, Unavailable>> => {
      const client = await this.#clients("scheduler");
      const name = jobName(this.#location, service);
      const done = await this.#call({ what: "scheduler.jobs.delete", signal }, () => client.deleteJob({ name }, call));
      if (done.isOk() || isState(done, "not_found")) return ok(undefined);
      return err(refused(done.error));
    };
    return new ResultAsync(removed());
  }

  find(service: ScheduledService, { signal }: CallOptions = {}): ResultAsync<CronJob | null, Unavailable> {
    const found = async (): Promise<Result<CronJob | null, Unavailable>> => {
      const client = await this.#clients("scheduler");
      const name = jobName(this.#location, service);
      const got = await this.#call({ what: "scheduler.jobs.get", signal }, () => client.getJob({ name }, call));
      if (got.isOk()) return ok(parseJob(service, got.value[0]));
      return isState(got, "not_found") ? ok(null) : err(refused(got.error));
    };
    return new ResultAsync(found());
  }

  /** Jobs have no etag. They need none, because a deploy holds the name while it sets the schedule. */
  async #put(job: ProtoJob, options: CallOptions): Promise<Result<void, Unavailable>> {
    let last: Called<ProtoJob> = await this.#update(job, options);
    for (let turn = 1; turn < MAX_TURNS && last.isErr(); turn++) {
      if (isState(last, "not_found")) last = await this.#create(job, options);
      else if (isState(last, "exists")) last = await this.#update(job, options);
      else break;
    }
    if (last.isErr()) return err(refused(last.error));
    return last.value.state === "PAUSED" ? this.#resume(job, options) : ok(undefined);
  }

  async #update(job: ProtoJob, { signal }: CallOptions): Promise<Called<ProtoJob>> {
    const client = await this.#clients("scheduler");
    const request = { job, updateMask: { paths: renderedFields } };
    const done = await this.#call({ what: "scheduler.jobs.patch", signal }, () => client.updateJob(request, call));
    return done.map(([updated]) => updated);
  }

  async #create(job: ProtoJob, { signal }: CallOptions): Promise<Called<ProtoJob>> {
    const client = await this.#clients("scheduler");
    const request = { parent: parentOf(this.#location), job };
    const done = await this.#call({ what: "scheduler.jobs.create", signal }, () => client.createJob(request, call));
    return done.map(([created]) => created);
  }

  /** Resumes a job that was paused by hand; an update does not. */
  async #resume({ name }: ProtoJob, { signal }: CallOptions): Promise<Result<void, Unavailable>> {
    const client = await this.#clients("scheduler");
    const request = { name: name ?? "" };
    const done = await this.#call({ what: "scheduler.jobs.resume", signal }, () => client.resumeJob(request, call));
    return done.isOk() ? ok(undefined) : err(refused(done.error));
  }
}

export const createGcpScheduler = (config: GcpConfig, clients: ClientSource, runtime: GoogleRuntimeDeps): Scheduler =>
  new GcpScheduler(config, clients, runtime);
