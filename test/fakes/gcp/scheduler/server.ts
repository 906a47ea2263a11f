/** Cloud Scheduler over gRPC, with real fires: google/cloud/scheduler/v1/cloudscheduler.proto. */
import { nextFire } from "../../../../core/domain/schedules/fire-times.ts";
import { type Instant, millisOf } from "../../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { Faults } from "../../faults.ts";
import { clientOptions, GrpcError, type Handlers, type Message, serveGrpc } from "../grpc.ts";
import { PROJECT } from "../test-project.ts";
import { execute } from "./execution.ts";
import { checkedJob } from "./rules.ts";

interface Kept {
  job: Message;
  /** Aborts when the job changes or is deleted, because its next fires change. */
  stop: AbortController;
}

/** The longest sleep before the fake reads the clock again, because tests may move the clock. */
const NAP_MS = 15_000;
const MOST = 500;

export const startFakeScheduler = async ({ clock }: { readonly clock: Clock }) => {
  const faults = new Faults();
  const jobs = new Map<string, Kept>();
  const closed = new AbortController();
  const running = new Set<Promise<unknown>>();

  const run = (job: Message, scheduled: Instant, next: Instant | undefined): Promise<boolean> => {
    const done = execute(clock, job, scheduled, next, closed.signal);
    running.add(done);
    void done.finally(() => running.delete(done));
    return done;
  };

  /** "Never two simultaneously outstanding executions": a fire that is due during one waits until it ends. */
  const follow = async ({ job }: Kept, { signal: stop }: AbortController): Promise<void> => {
    const schedule = { cron: job.schedule, timezone: job.timeZone };
    for (let due = nextFire(schedule, clock.now()); due !== undefined; due = nextFire(schedule, due)) {
      while (!stop.aborted && clock.now() < due)
        await clock.sleep(Math.min(millisOf(due) - millisOf(clock.now()), NAP_MS), stop);
      if (stop.aborted || closed.signal.aborted) return;
      await run(job, due, nextFire(schedule, due));
    }
  };

  /** Sets the time of a user's write, as in the recording that `checkedJob` names. */
  const written = (job: Message): Message => {
    const millis = millisOf(clock.now());
    return { ...job, userUpdateTime: { seconds: String(Math.floor(millis / 1000)), nanos: 0 } };
  };

  const keep = (job: Message): Message => {
    jobs.get(job.name)?.stop.abort();
    const kept = { job, stop: new AbortController() };
    jobs.set(job.name, kept);
    if (job.state === "ENABLED") void follow(kept, kept.stop);
    return job;
  };

  const known = (name: string): Message => {
    const kept = jobs.get(name);
    if (kept === undefined) throw new GrpcError("NOT_FOUND", "Job not found.");
    return kept.job;
  };

  const create = ({ parent, job }: Message): Message => {
    const name = job.name || `${parent}/jobs/${jobs.size + 1}`;
    if (!name.startsWith(`${parent}/jobs/`)) throw new GrpcError("INVALID_ARGUMENT", "the name has another parent");
    if (jobs.has(name)) throw new GrpcError("ALREADY_EXISTS", "Job already exists.");
    return keep({ ...written(checkedJob({ ...job, name })), state: "ENABLED" });
  };

  const camel = (path: string): string => path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());

  const update = ({ job, updateMask }: Message): Message => {
    const before = known(job.name);
    const paths: string[] = updateMask?.paths ?? [];
    const changed = Object.fromEntries(paths.map((path) => [camel(path), job[camel(path)]]));
    // Without a mask, the update covers every field; "output only fields ... will be ignored".
    const after = paths.length === 0 ? { ...before, ...job } : { ...before, ...changed };
    return keep({ ...written(checkedJob(after)), state: before.state });
  };

  const list = ({ parent, pageSize, pageToken }: Message): object => {
    const all = [...jobs.keys()].filter((name) => name.startsWith(`${parent}/jobs/`)).sort();
    const size = Math.min(pageSize || MOST, MOST);
    const from = Number(pageToken || 0);
    const next = from + size < all.length ? String(from + size) : "";
    return { jobs: all.slice(from, from + size).map(known), nextPageToken: next };
  };

  const setState = (name: string, from: string, state: string): Message => {
    const job = known(name);
    if (job.state !== from) throw new GrpcError("FAILED_PRECONDITION", `the job is ${job.state}, not ${from}`);
    return keep({ ...job, state });
  };

  const remove = ({ name }: Message): object => {
    known(name);
    jobs.get(name)?.stop.abort();
    jobs.delete(name);
    return {};
  };

  const runNow = ({ name }: Message): Message => {
    const job = known(name);
    const now = clock.now();
    void run(job, now, nextFire({ cron: job.schedule, timezone: job.timeZone }, now));
    return job;
  };

  const handlers: Handlers = {
    CreateJob: create,
    UpdateJob: update,
    GetJob: ({ name }) => known(name),
    DeleteJob: remove,
    ListJobs: list,
    PauseJob: ({ name }) => setState(name, "ENABLED", "PAUSED"),
    ResumeJob: ({ name }) => setState(name, "PAUSED", "ENABLED"),
    RunJob: runNow,
  };
  const services = { "google.cloud.scheduler.v1.CloudScheduler": handlers };
  const server = await serveGrpc("@google-cloud/scheduler", services, faults);
  const { CloudSchedulerClient } = await import("@google-cloud/scheduler");
  const clientSettings = clientOptions(server, PROJECT);
  const client = new CloudSchedulerClient(clientSettings);
  return {
    faults,
    client,
    clientSettings,
    jobs: (): readonly Message[] => [...jobs.values()].map(({ job }) => job),
    /** Resolves when all running executions have ended. */
    settled: async () => void (await Promise.all(running)),
    close: async () => {
      closed.abort();
      for (const { stop } of jobs.values()) stop.abort();
      await client.close();
      server.close();
    },
  };
};

export type FakeScheduler = Awaited<ReturnType<typeof startFakeScheduler>>;
