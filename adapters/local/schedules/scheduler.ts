/** The local Scheduler: one timer per schedule, until its next fire by the core's rules. */

import type { CronJob } from "../../../core/domain/schedules/cron-job.ts";
import { isTooLate } from "../../../core/domain/schedules/fire-policy.ts";
import { nextFire } from "../../../core/domain/schedules/fire-times.ts";
import { millisOf, type Timestamp } from "../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { ScheduledService, Scheduler } from "../../../core/ports/scheduler.ts";
import type { Logger } from "../../../core/ports/system.ts";
import { errAsync, okAsync, type ResultAsync } from "../../../core/result.ts";
import { scopeKey } from "../../shared/accounts/scope-key.ts";
import { storeUnavailable } from "../../shared/runtime/disk-fault.ts";
import type { ScheduleRows } from "../state/schedules.ts";
import { type FireDeps, fire } from "./fire.ts";
import type { LastFires } from "./last-fires.ts";

export interface SchedulerDeps extends Omit<FireDeps, "note"> {
  readonly rows: ScheduleRows;
  readonly lastFires: LastFires;
  /** Returns when the deployment was created; undefined if it was deleted. */
  readonly createdAtOf: (service: ScheduledService) => Timestamp | undefined;
  readonly logger: Logger;
}

/** The maximum time between two checks of the clock, so that a changed clock is noticed. */
const MAX_SLEEP_MS = 15_000;

/** If the clock went back by more than this, it was set, and fires are computed again. Time synchronization changes it less. */
const SET_BACK_MS = 60_000;

const keyOf = ({ owner, name }: ScheduledService): string => scopeKey(owner, name);

/**
 * Fires one schedule until `stop` aborts.
 * @param ended aborts when the scheduler closes; a running fire continues when its schedule changes
 */
const follow = async (deps: FireDeps, job: CronJob, stop: AbortSignal, ended: AbortSignal): Promise<void> => {
  const { clock } = deps;
  const { schedule } = job;
  let looked = clock.now();
  let due = nextFire(schedule, looked);
  while (due !== undefined) {
    const left = millisOf(due) - millisOf(clock.now());
    await clock.sleep(Math.min(Math.max(left, 1), MAX_SLEEP_MS), stop);
    if (stop.aborted) return;
    const now = clock.now();
    if (millisOf(looked) - millisOf(now) > SET_BACK_MS) due = nextFire(schedule, now);
    looked = now;
    if (due === undefined || due > now) continue;
    const scheduled = due;
    due = nextFire(schedule, now);
    // Not awaited: a fire that takes longer than the schedule's interval overlaps with the next one.
    if (!isTooLate(scheduled, now)) void fire(deps, job, scheduled, nextFire(schedule, scheduled), ended);
  }
};

export class LocalScheduler implements Scheduler {
  readonly #deps: SchedulerDeps;
  readonly #followers = new Map<string, AbortController>();
  readonly #closed = new AbortController();

  constructor(deps: SchedulerDeps) {
    this.#deps = deps;
  }

  /**
   * Starts all schedules. Does not run fires that were missed while the server was down.
   * @param deployed the schedules of the deployed services; they replace stored ones, because a crash may have come between a
   *   rollout and its schedule
   */
  open(deployed: readonly CronJob[]): void {
    const { rows, lastFires } = this.#deps;
    this.#noting("forget fires", () => lastFires.retain(deployed));
    const names = new Set(deployed.map(keyOf));
    for (const job of rows.all()) if (!names.has(keyOf(job))) rows.remove(job);
    for (const job of deployed) {
      rows.put(job);
      this.#follow(job);
    }
  }

  close(): void {
    this.#closed.abort();
    for (const follower of this.#followers.values()) follower.abort();
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
      this.#noting("forget a fire", () => this.#deps.lastFires.forget(service));
      this.#leave(service);
    });
  }

  find(...[service]: Parameters<Scheduler["find"]>): ReturnType<Scheduler["find"]> {
    return this.#guarded(() => this.#deps.rows.find(service));
  }

  readonly #note: FireDeps["note"] = (job, fire) => {
    const { rows, createdAtOf, lastFires } = this.#deps;
    this.#noting("store the result of a fire", () => {
      const createdAt = createdAtOf(job);
      // The schedule may have been removed while it fired.
      if (createdAt !== undefined && rows.find(job) !== null) lastFires.note({ ...job, createdAt }, fire);
    });
  };

  /** A schedule works without the results of its fires. */
  #noting(what: string, work: () => void): void {
    try {
      work();
    } catch (cause) {
      this.#deps.logger.warn(`could not ${what}`, { cause });
    }
  }

  #follow(job: CronJob): void {
    this.#leave(job);
    const stop = new AbortController();
    this.#followers.set(keyOf(job), stop);
    follow({ ...this.#deps, note: this.#note }, job, stop.signal, this.#closed.signal).catch((cause: unknown) =>
      this.#deps.logger.error("a schedule stopped because of an error", { name: job.name, cause }),
    );
  }

  #leave(service: ScheduledService): void {
    this.#followers.get(keyOf(service))?.abort();
    this.#followers.delete(keyOf(service));
  }

  #guarded<T>(work: () => T): ResultAsync<T, Unavailable> {
    try {
      return okAsync(work());
    } catch (cause) {
      this.#deps.logger.error("could not read or write schedules", { cause });
      return errAsync(storeUnavailable("The schedules of this machine cannot be read or written.", cause));
    }
  }
}
