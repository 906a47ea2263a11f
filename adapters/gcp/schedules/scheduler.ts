/** `Scheduler` on Cloud Scheduler: one job per deployment. */
import type { CloudSchedulerClient } from "@google-cloud/scheduler";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { Scheduler } from "../../../core/ports/scheduler.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { ok, ResultAsync, safeTry } from "../../../core/result.ts";
import { type CallState, isCallState } from "../../cloud/calls/provider-call.ts";
import { type GoogleRuntimeDeps, googleCalls, onState } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import { type GcpLocation, parentOf } from "../location.ts";
import { jobName, type ProtoJob, parseJob, renderedFields, renderJob } from "./job.ts";

/** Timeout of one call, in milliseconds. */
const CALL_TIMEOUT_MS = 20_000;
const callSettings = { retry: null, timeout: CALL_TIMEOUT_MS } as const;

/** Limits the retries. With concurrent writes, an update may find no job, and a create may find an existing one. */
const MAX_ATTEMPTS = 3;

const refused = (error: CallState | Unavailable): Unavailable =>
  isCallState(error)
    ? unavailable(
        "Cloud Scheduler rejected a request about the schedule. The operator can find the reason in the server's log.",
        60,
        error.error,
      )
    : error;

export const createGcpScheduler = (
  location: GcpLocation,
  clients: ClientSource,
  runtime: GoogleRuntimeDeps,
): Scheduler => {
  const call = googleCalls(runtime);

  const send = <T>(
    method: string,
    { signal }: CallOptions,
    work: (client: CloudSchedulerClient) => Promise<[T, ...unknown[]]>,
  ): ResultAsync<T, CallState | Unavailable> =>
    new ResultAsync(
      call({ what: `scheduler.jobs.${method}`, signal }, async () => (await work(await clients("scheduler")))[0]),
    );

  const update = (job: ProtoJob, options: CallOptions) =>
    send("patch", options, (client) => client.updateJob({ job, updateMask: { paths: renderedFields } }, callSettings));

  const create = (job: ProtoJob, options: CallOptions) =>
    send("create", options, (client) => client.createJob({ parent: parentOf(location), job }, callSettings));

  /**
   * Jobs have no etag, so this write is unconditional. The server runs the rollouts of a name one after another, and
   * each rollout ends after this write.
   */
  const updateOrCreate = async (job: ProtoJob, options: CallOptions) => {
    let last = await update(job, options);
    for (let attempt = 1; attempt < MAX_ATTEMPTS && last.isErr() && isCallState(last.error); attempt++) {
      if (last.error.code === "not_found") last = await create(job, options);
      else if (last.error.code === "exists") last = await update(job, options);
      else break;
    }
    return last;
  };

  return {
    put: (job, options = {}) =>
      safeTry(async function* () {
        const written = yield* await updateOrCreate(renderJob(location, job), options);
        // An update does not resume a job that was paused by hand.
        if (written.state === "PAUSED")
          yield* send("resume", options, (client) => client.resumeJob({ name: jobName(location, job) }, callSettings));
        return ok(undefined);
      }).mapErr(refused),

    remove: (service, options = {}) => {
      const name = jobName(location, service);
      return send("delete", options, (client) => client.deleteJob({ name }, callSettings))
        .map(() => undefined)
        .orElse(onState("not_found", undefined))
        .mapErr(refused);
    },

    find: (service, options = {}) => {
      const name = jobName(location, service);
      return send("get", options, (client) => client.getJob({ name }, callSettings))
        .map((job) => parseJob(service, job))
        .orElse(onState("not_found", null))
        .mapErr(refused);
    },
  };
};
