/** The local Scheduler: one timer a schedule, to its next fire by the core's rule. */

import { isTooLate } from "../../../core/domain/fire-policy.ts";
import { nextFire } from "../../../core/domain/fire-times.ts";
import { type Instant, millisOf } from "../../../core/domain/instant.ts";
import { unavailable } from "../../../core/errors.ts";
import type { CronJob, ScheduledService, Scheduler } from "../../../core/ports/scheduler.ts";
import type { Logger } from "../../../core/ports/system.ts";
import { errAsync, okAsync, type ResultAsync } from "../../../core/result.ts";
import type { ScheduleRows } from "../state/schedules.ts";
import { type FireDeps, fire } from "./fire.ts";

export interface SchedulerDeps extends FireDeps {
  readonly rows: ScheduleRows;
  readonly logger: Logger;
}

/** A clock that is set is noticed at the next look; so none is further off than this. */
const LONGEST_NAP_MS = 15_000;

/** A clock that went back by more than this was set, and what it says now counts; less is how clocks are kept right. */
const SET_BACK_MS = 60_000;

const keyOf = ({ owner, name }: ScheduledService): string => `${owner}\n${name}`;

/** Follows one schedule until it is stopped. */
class Follower {
  readonly #deps: SchedulerDeps;
  readonly #job: CronJob;
  readonly #ended: AbortSignal;
  #due: Instant | undefined;
  #looked: Instant;
  #timer: NodeJS.Timeout | undefined;

  constructor(deps: SchedulerDeps, job: CronJob, ended: AbortSignal) {
    this.#deps = deps;
    this.#job = job;
    this.#ended = ended;
    this.#looked = deps.clock.now();
    this.#due = nextFire(job.schedule, this.#looked);
    this.#nap();
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #nap(): void {
    if (this.#due === undefined) return;
    const left = Math.max(0, millisOf(this.#due) - millisOf(this.#deps.clock.now()));
    this.#timer = setTimeout(() => this.#look(), Math.min(left, LONGEST_NAP_MS)).unref();
  }

  #look(): void {
    const { clock } = this.#deps;
    const now = clock.now();
    if (millisOf(this.#looked) - millisOf(now) > SET_BACK_MS) this.#due = nextFire(this.#job.schedule, now);
    this.#looked = now;
    if (this.#due !== undefined && this.#due <= now) this.#fire(this.#due, now);
    this.#nap();
  }

  #fire(due: Instant, now: Instant): void {
    const { schedule } = this.#job;
    this.#due = nextFire(schedule, due > now ? due : now);
    if (isTooLate(due, now)) return;
    // A run that takes longer than the schedule's pause goes on beside the next one.
    void fire(this.#deps, this.#job, due, nextFire(schedule, due), this.#ended);
  }
}

export class LocalScheduler implements Scheduler {
  readonly #deps: SchedulerDeps;
  readonly #followers = new Map<string, Follower>();
  readonly #closed = new AbortController();

  constructor(deps: SchedulerDeps) {
    this.#deps = deps;
  }

  /**
   * Begins to follow every schedule. What was missed meanwhile is not made up for.
   * @param wanted the schedules of what is deployed; where a stop came between a rollout and its schedule, they count
   */
  open(wanted: readonly CronJob[]): void {
    const { rows } = this.#deps;
    const names = new Set(wanted.map(keyOf));
    for (const job of rows.all()) if (!names.has(keyOf(job))) rows.remove(job);
    for (const job of wanted) {
      rows.put(job);
      this.#follow(job);
    }
  }

  close(): void {
    this.#closed.abort();
    for (const follower of this.#followers.values()) follower.stop();
    this.#followers.clear();
  }

  put(...[job]: Parameters<Scheduler["put"]>): ReturnType<Scheduler["put"]> {
    return this.#guarded(() => {
      this.#deps.rows.put(job);
      this.#follow(job);
    });
  }

  remove(...[service]: Parameters<Scheduler["remove"]>): ReturnType<Scheduler["remove"]> {
    return this.#guarded(() => {
      this.#deps.rows.remove(service);
      this.#leave(service);
    });
  }

  find(...[service]: Parameters<Scheduler["find"]>): ReturnType<Scheduler["find"]> {
    return this.#guarded(() => this.#deps.rows.find(service));
  }

  #follow(job: CronJob): void {
    this.#leave(job);
    this.#followers.set(keyOf(job), new Follower(this.#deps, job, this.#closed.signal));
  }

  #leave(service: ScheduledService): void {
    this.#followers.get(keyOf(service))?.stop();
    this.#followers.delete(keyOf(service));
  }

  #guarded<T>(work: () => T): ResultAsync<T, ReturnType<typeof unavailable>> {
    try {
      return okAsync(work());
    } catch (cause) {
      this.#deps.logger.error("the schedules cannot be read or written", { cause });
      return errAsync(unavailable("The schedules of this machine cannot be read or written now.", 5, cause));
    }
  }
}
