/** The engine's cron timers. Each stored schedule has a timer, which waits for the schedule's next fire. */
import { isDeepStrictEqual } from "node:util";
import type { NewLogEntry } from "../../../core/domain/logs/entry.ts";
import type { CronJob } from "../../../core/domain/schedules/cron-job.ts";
import {
  earliestInTime,
  isTooLate,
  type LastFire,
  mayRequestFire,
} from "../../../core/domain/schedules/fire-policy.ts";
import { nextFire } from "../../../core/domain/schedules/fire-times.ts";
import { type Instant, millisOf, type Timestamp } from "../../../core/domain/wire/instant.ts";
import type { ScheduledService } from "../../../core/ports/scheduler.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import { scopeKey } from "../../shared/accounts/scope-key.ts";
import { BackgroundTasks } from "../../shared/runtime/background-tasks.ts";
import { type Attempt, attemptFire, type PendingFire } from "./fire.ts";
import type { FiredService, LastFires } from "./last-fires.ts";
import { TooManyFires } from "./too-many-fires.ts";

/** A stored schedule. If its deployment is deleted and created again, `createdAt` changes. */
export interface StoredJob extends CronJob {
  readonly createdAt: Timestamp;
}

export interface TimerDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Returns the URL of the service, or undefined if the service was deleted. */
  readonly urlOf: (service: ScheduledService) => string | undefined;
  readonly log: (entry: NewLogEntry) => void;
  /** Called with the result of each attempt. Must pass the result to `note` in the engine that holds the lease. */
  readonly onAttempt: (service: FiredService, fire: LastFire) => void;
  /**
   * Called with each fire that waits for its next attempt while the timers are stopped. Must pass the fire to `resume`
   * in the engine that holds the lease.
   */
  readonly onPending: (service: FiredService, fire: PendingFire) => void;
  /** How long `close` waits for fires that were running at `stop`, in milliseconds. */
  readonly drainMillis: number;
}

const keyOf = ({ owner, name }: ScheduledService): string => scopeKey(owner, name);

/** Returns the running jobs to stop and the stored jobs to start. A changed job is in both lists. Pure. */
export const timerChanges = (
  stored: readonly StoredJob[],
  running: readonly StoredJob[],
): { readonly stop: readonly StoredJob[]; readonly start: readonly StoredJob[] } => {
  const lacks = (jobs: readonly StoredJob[]) => {
    const byKey = new Map(jobs.map((job) => [keyOf(job), job]));
    return (job: StoredJob) => !isDeepStrictEqual(byKey.get(keyOf(job)), job);
  };
  return { stop: running.filter(lacks(stored)), start: stored.filter(lacks(running)) };
};

/** Maximum time between two checks of the clock. The clock may be set while a timer waits. */
const MAX_SLEEP_MS = 15_000;

/**
 * If the clock is set back by more than this, the timer computes its next fire again. Time synchronization makes
 * smaller changes.
 */
const SET_BACK_MS = 60_000;

interface Timer {
  readonly job: StoredJob;
  readonly stop: AbortController;
  /** The next fire; undefined if there is none, or while the timers are stopped. */
  due: Instant | undefined;
}

/** The state of running timers. */
interface Run {
  readonly lastFires: LastFires;
  readonly stop: AbortController;
}

export class CronTimers {
  readonly #deps: TimerDeps;
  readonly #timers = new Map<string, Timer>();
  readonly #fires: BackgroundTasks;
  /** The number of requested fires of each schedule that have not ended. */
  readonly #requested = new Map<string, number>();
  /** Ends the requests of running fires. */
  readonly #end = new AbortController();
  #run: Run | undefined;
  /** True if `close` was called without `stop`. The timers then discard the results of running fires. */
  #isDiscarding = false;

  constructor(deps: TimerDeps) {
    this.#deps = deps;
    this.#fires = new BackgroundTasks(deps.logger);
  }

  /**
   * Starts the timers. Before this call, and after `stop`, another engine fires the schedules.
   * @param since when the other engine stopped its timers. Fires that became due since then start now, unless they are
   * too late. This applies only to schedules that `apply` has received before this call.
   */
  start(lastFires: LastFires, since: Instant = this.#deps.clock.now()): void {
    this.#run = { lastFires, stop: new AbortController() };
    const jobs = [...this.#timers.values()].map(({ job }) => job);
    this.#timers.clear();
    for (const job of jobs) this.#add(job, since);
  }

  /**
   * Stops the timers. Returns the time up to which they have fired. Passes fires that wait for a retry to `onPending`.
   * Running attempts continue.
   */
  stop(): Instant {
    const since = this.#deps.clock.now();
    for (const { job, stop, due } of this.#timers.values()) {
      stop.abort();
      // This fire is due, but its timer is late because the process was busy.
      if (due !== undefined && due <= since && !isTooLate(due, since)) this.#fire(job, due);
    }
    this.#run?.stop.abort();
    this.#run = undefined;
    return since;
  }

  /** Runs timers for exactly these schedules. Skips fires that were due while a schedule had no timer. */
  apply(stored: readonly StoredJob[]): void {
    const running = [...this.#timers.values()].map(({ job }) => job);
    const { stop, start } = timerChanges(stored, running);
    for (const job of stop) {
      this.#timers.get(keyOf(job))?.stop.abort();
      this.#timers.delete(keyOf(job));
    }
    for (const job of start) this.#add(job, this.#deps.clock.now());
    this.#noting("forget the fires of removed schedules", (lastFires) => lastFires.retain(stored));
  }

  /** Stores the result of a fire's latest attempt, unless the schedule was deleted or the timers are stopped. */
  note(service: FiredService, fire: LastFire): void {
    if (this.#jobOf(service) !== undefined)
      this.#noting("store the result of a fire", (lastFires) => lastFires.note(service, fire));
  }

  /**
   * Starts a fire of a schedule now. Returns false if the service has no schedule. Throws `TooManyFires` if too many
   * requested fires of the schedule have not ended.
   */
  request(service: ScheduledService, fireId: string): boolean {
    const job = this.#timers.get(keyOf(service))?.job;
    if (job === undefined) return false;
    if (!mayRequestFire(this.#requested.get(keyOf(job)) ?? 0)) throw new TooManyFires();
    const now = this.#deps.clock.now();
    this.#continue(job, { scheduled: now, attempts: 0, at: now, fireId });
    return true;
  }

  /** Continues a fire that another engine's timers passed to `onPending`, unless the schedule was deleted. */
  resume(service: FiredService, fire: PendingFire): void {
    const job = this.#jobOf(service);
    if (job !== undefined) this.#continue(job, fire);
  }

  /**
   * Ends all timers and running fires. After `stop`, first waits up to `drainMillis` for running attempts. Attempts
   * that are still running then count as attempts without a response, so another engine can retry them.
   */
  async close(): Promise<void> {
    const { clock, drainMillis } = this.#deps;
    this.#isDiscarding = this.#run !== undefined;
    this.#run?.stop.abort();
    for (const { stop } of this.#timers.values()) stop.abort();
    this.#timers.clear();
    if (!this.#isDiscarding) {
      const waited = new AbortController();
      await Promise.race([this.#fires.settle(), clock.sleep(drainMillis, waited.signal)]);
      waited.abort();
    }
    this.#end.abort();
    await this.#fires.settle();
  }

  #add(job: StoredJob, since: Instant): void {
    const timer: Timer = { job, stop: new AbortController(), due: undefined };
    this.#timers.set(keyOf(job), timer);
    if (this.#run === undefined) return;
    this.#follow(timer, since).catch((cause: unknown) =>
      this.#deps.logger.error("a schedule stopped because of an error", { name: job.name, cause }),
    );
  }

  /** Fires a schedule until its timer stops. */
  async #follow(timer: Timer, since: Instant): Promise<void> {
    const { clock } = this.#deps;
    const { job, stop } = timer;
    const { schedule } = job;
    let looked = since;
    timer.due = nextFire(schedule, since);
    while (timer.due !== undefined) {
      const left = millisOf(timer.due) - millisOf(clock.now());
      await clock.sleep(Math.min(Math.max(left, 1), MAX_SLEEP_MS), stop.signal);
      if (stop.signal.aborted) return;
      const now = clock.now();
      if (millisOf(looked) - millisOf(now) > SET_BACK_MS) timer.due = nextFire(schedule, now);
      looked = now;
      const scheduled: Instant | undefined = timer.due;
      if (scheduled === undefined || scheduled > now) continue;
      const tooLate = isTooLate(scheduled, now);
      timer.due = nextFire(schedule, tooLate ? earliestInTime(now) : scheduled);
      if (!tooLate) this.#fire(job, scheduled);
    }
  }

  #fire(job: StoredJob, scheduled: Instant): void {
    this.#continue(job, { scheduled, attempts: 0, at: scheduled });
  }

  /** Does not wait for the fire, because the fire may still run when the schedule's next fire is due. */
  #continue(job: StoredJob, fire: PendingFire): void {
    const attempts = fire.fireId === undefined ? this.#attempts(job, fire) : this.#counted(job, fire);
    this.#fires.add(attempts, "a run of a schedule stopped because of an error");
  }

  /** Counts a requested fire until it ends, or until another engine continues it. */
  async #counted(job: StoredJob, fire: PendingFire): Promise<void> {
    const key = keyOf(job);
    this.#requested.set(key, (this.#requested.get(key) ?? 0) + 1);
    try {
      await this.#attempts(job, fire);
    } finally {
      const left = (this.#requested.get(key) ?? 1) - 1;
      if (left === 0) this.#requested.delete(key);
      else this.#requested.set(key, left);
    }
  }

  /** Makes attempts until the fire ends, the schedule is deleted, or the timers stop. */
  async #attempts(job: StoredJob, first: PendingFire): Promise<void> {
    const { clock, urlOf, log, onAttempt, onPending } = this.#deps;
    for (let next: PendingFire | undefined = first; next !== undefined; ) {
      const run = this.#run;
      const millis = millisOf(next.at) - millisOf(clock.now());
      if (run !== undefined && millis > 0) await clock.sleep(millis, run.stop.signal);
      if (this.#isDiscarding) return;
      if (run === undefined || run.stop.signal.aborted) return onPending(job, next);
      const url = this.#jobOf(job) === undefined ? undefined : urlOf(job);
      if (url === undefined) return;
      const { entry, fire, retry }: Attempt = await attemptFire(clock, url, job, next, this.#end.signal);
      if (this.#isDiscarding) return;
      log(entry);
      onAttempt(job, fire);
      next = retry;
    }
  }

  #jobOf(service: FiredService): StoredJob | undefined {
    const job = this.#timers.get(keyOf(service))?.job;
    return job?.createdAt === service.createdAt ? job : undefined;
  }

  /** Logs failures instead of throwing them, because schedules work without the stored results of their fires. */
  #noting(what: string, work: (lastFires: LastFires) => void): void {
    if (this.#run === undefined) return;
    try {
      work(this.#run.lastFires);
    } catch (cause) {
      this.#deps.logger.warn(`could not ${what}`, { cause });
    }
  }
}
