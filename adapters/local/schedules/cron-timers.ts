/** The engine's cron timers. Each stored schedule has a timer, which waits for the schedule's next fire. */
import { isDeepStrictEqual } from "node:util";
import type { CronJob } from "../../../core/domain/schedules/cron-job.ts";
import { isTooLate } from "../../../core/domain/schedules/fire-policy.ts";
import { nextFire } from "../../../core/domain/schedules/fire-times.ts";
import { millisOf, type Timestamp } from "../../../core/domain/wire/instant.ts";
import type { ScheduledService } from "../../../core/ports/scheduler.ts";
import type { Logger } from "../../../core/ports/system.ts";
import { scopeKey } from "../../shared/accounts/scope-key.ts";
import { type FireDeps, fire } from "./fire.ts";
import type { LastFires } from "./last-fires.ts";

/** A stored schedule. If its deployment is deleted and created again, `createdAt` changes. */
export interface StoredJob extends CronJob {
  readonly createdAt: Timestamp;
}

export interface TimerDeps extends Pick<FireDeps, "clock" | "log"> {
  readonly lastFires: LastFires;
  /** Returns the URL of the service, or undefined if the service was deleted. */
  readonly urlOf: (service: ScheduledService) => string | undefined;
  readonly logger: Logger;
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

/** Maximum time between two checks of the clock, which an operator may set while a timer waits. */
const MAX_SLEEP_MS = 15_000;

/**
 * If the clock goes back by more than this, the next fire is computed again. Time synchronization makes smaller
 * changes.
 */
const SET_BACK_MS = 60_000;

/**
 * Fires one schedule until `stop` aborts.
 * @param ended also ends running fires; aborts when the timers close
 */
const follow = async (deps: FireDeps, job: StoredJob, stop: AbortSignal, ended: AbortSignal): Promise<void> => {
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
    // Not awaited, because a fire that takes longer than the schedule's interval overlaps with the next one.
    if (!isTooLate(scheduled, now)) void fire(deps, job, scheduled, nextFire(schedule, scheduled), ended);
  }
};

interface Timer {
  readonly job: StoredJob;
  readonly stop: AbortController;
}

export class CronTimers {
  readonly #deps: TimerDeps;
  readonly #timers = new Map<string, Timer>();
  readonly #closed = new AbortController();

  constructor(deps: TimerDeps) {
    this.#deps = deps;
  }

  /** Runs timers for exactly these schedules. Skips fires that were due while a schedule had no timer. */
  apply(stored: readonly StoredJob[]): void {
    const running = [...this.#timers.values()].map(({ job }) => job);
    const { stop, start } = timerChanges(stored, running);
    for (const job of stop) {
      this.#timers.get(keyOf(job))?.stop.abort();
      this.#timers.delete(keyOf(job));
    }
    for (const job of start) this.#follow(job);
    this.#noting("forget the fires of removed schedules", () => this.#deps.lastFires.retain(stored));
  }

  /** Ends all timers and running fires. */
  close(): void {
    this.#closed.abort();
    for (const { stop } of this.#timers.values()) stop.abort();
    this.#timers.clear();
  }

  #follow(job: StoredJob): void {
    const stop = new AbortController();
    this.#timers.set(keyOf(job), { job, stop });
    const { clock, log, urlOf, lastFires, logger } = this.#deps;
    const isStored = () => this.#timers.get(keyOf(job))?.job.createdAt === job.createdAt;
    const deps: FireDeps = {
      clock,
      log,
      urlOf: () => (isStored() ? urlOf(job) : undefined),
      note: (_job, outcome) => {
        if (isStored()) this.#noting("store the result of a fire", () => lastFires.note(job, outcome));
      },
    };
    follow(deps, job, stop.signal, this.#closed.signal).catch((cause: unknown) =>
      logger.error("a schedule stopped because of an error", { name: job.name, cause }),
    );
  }

  /** Only logs a failure, because schedules work without the stored results of their fires. */
  #noting(what: string, work: () => void): void {
    try {
      work();
    } catch (cause) {
      this.#deps.logger.warn(`could not ${what}`, { cause });
    }
  }
}
