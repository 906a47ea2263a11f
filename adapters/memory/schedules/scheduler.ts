/** Stores schedules. They fire only on request, and no fire gets a response, because no service runs in memory. */
import type { LastFire } from "../../../core/domain/schedules/fire-policy.ts";
import { timestampOf } from "../../../core/domain/wire/instant.ts";
import { notFound } from "../../../core/errors.ts";
import type { LogStore } from "../../../core/ports/log-store.ts";
import type { Scheduler } from "../../../core/ports/scheduler.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { errAsync, okAsync } from "../../../core/result.ts";
import { scopeKey } from "../../shared/accounts/scope-key.ts";
import { fireEntry } from "../../shared/schedules/fire-entry.ts";
import type { World } from "../world.ts";

export const createMemoryScheduler = ({ schedules, fires }: World, clock: Clock, logs: LogStore): Scheduler => ({
  put: (job) => {
    schedules.set(scopeKey(job.owner, job.name), structuredClone(job));
    return okAsync(undefined);
  },
  remove: ({ owner, name }) => {
    schedules.delete(scopeKey(owner, name));
    fires.delete(scopeKey(owner, name));
    return okAsync(undefined);
  },
  find: ({ owner, name }) => okAsync(structuredClone(schedules.get(scopeKey(owner, name)) ?? null)),
  fire: ({ owner, name }, fireId) => {
    const job = schedules.get(scopeKey(owner, name));
    if (job === undefined) return errAsync(notFound(`The service '${name}' has no schedule.`));
    const fire: LastFire = { at: timestampOf(clock.now()), status: null, attempts: 1, fireId };
    fires.set(scopeKey(owner, name), fire);
    return logs.append([fireEntry(job, fire, 0, undefined)]);
  },
});
