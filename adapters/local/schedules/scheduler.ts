/** The local Scheduler. It stores schedules in the state, and the engine fires them. */
import { fireLimits } from "../../../core/domain/accounts/limits.ts";
import type { CronJob } from "../../../core/domain/schedules/cron-job.ts";
import { notFound, type Unavailable, unavailable } from "../../../core/errors.ts";
import type { ScheduledService, Scheduler } from "../../../core/ports/scheduler.ts";
import type { Logger } from "../../../core/ports/system.ts";
import { err, ok, ResultAsync } from "../../../core/result.ts";
import { scopeKey } from "../../shared/accounts/scope-key.ts";
import { storeUnavailable } from "../../shared/runtime/disk-fault.ts";
import type { Engine } from "../engine/engine.ts";
import type { ScheduleRows } from "../state/schedules.ts";
import { TooManyFires } from "./too-many-fires.ts";

export interface SchedulerDeps {
  readonly rows: ScheduleRows;
  readonly engine: Pick<Engine, "apply" | "fire">;
  readonly logger: Logger;
}

type Fire = NonNullable<Scheduler["fire"]>;

const keyOf = ({ owner, name }: ScheduledService): string => scopeKey(owner, name);

export class LocalScheduler implements Scheduler {
  readonly #deps: SchedulerDeps;

  constructor(deps: SchedulerDeps) {
    this.#deps = deps;
  }

  /**
   * Makes the stored schedules match the deployed services. They differ if the server crashed after a rollout and
   * before it stored the schedule.
   */
  async open(deployed: readonly CronJob[]): Promise<void> {
    const { rows, engine } = this.#deps;
    const names = new Set(deployed.map(keyOf));
    for (const job of rows.all()) if (!names.has(keyOf(job))) rows.remove(job);
    for (const job of deployed) rows.put(job);
    await engine.apply();
  }

  put(...[job]: Parameters<Scheduler["put"]>): ReturnType<Scheduler["put"]> {
    return this.#guarded(async () => {
      this.#deps.rows.put(job);
      await this.#deps.engine.apply();
    });
  }

  remove(...[service]: Parameters<Scheduler["remove"]>): ReturnType<Scheduler["remove"]> {
    return this.#guarded(async () => {
      this.#deps.rows.remove(service);
      await this.#deps.engine.apply();
    });
  }

  fire(...[{ owner, name }, fireId]: Parameters<Fire>): ReturnType<Fire> {
    const fired = ResultAsync.fromPromise(this.#deps.engine.fire({ owner, name }, fireId), (cause) => {
      if (cause instanceof TooManyFires)
        return unavailable(
          `The schedule of '${name}' already has ${fireLimits.requested} requested runs that have not ended. Try again when one has ended.`,
        );
      this.#deps.logger.error("could not start a fire", { name, cause });
      return unavailable(
        "The engine did not start the run. If it is older than this server, run 'portside upgrade'; otherwise try again.",
        5,
        cause,
      );
    });
    return fired.andThen((hasSchedule) =>
      hasSchedule ? ok(undefined) : err(notFound(`The service '${name}' has no schedule.`)),
    );
  }

  find(...[service]: Parameters<Scheduler["find"]>): ReturnType<Scheduler["find"]> {
    return this.#guarded(async () => this.#deps.rows.find(service));
  }

  #guarded<T>(work: () => Promise<T>): ResultAsync<T, Unavailable> {
    return ResultAsync.fromPromise(work(), (cause) => {
      this.#deps.logger.error("could not read, write or apply schedules", { cause });
      return storeUnavailable("The schedules of this machine cannot be read, written or applied. Try again.", cause);
    });
  }
}
