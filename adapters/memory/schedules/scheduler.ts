/** Stores schedules but never fires them, because no service runs in memory. */
import type { Scheduler } from "../../../core/ports/scheduler.ts";
import { okAsync } from "../../../core/result.ts";
import { scopeKey } from "../../shared/accounts/scope-key.ts";
import type { World } from "../world.ts";

export const createMemoryScheduler = ({ schedules }: World): Scheduler => ({
  put: (job) => {
    schedules.set(scopeKey(job.owner, job.name), structuredClone(job));
    return okAsync(undefined);
  },
  remove: ({ owner, name }) => {
    schedules.delete(scopeKey(owner, name));
    return okAsync(undefined);
  },
  find: ({ owner, name }) => okAsync(structuredClone(schedules.get(scopeKey(owner, name)) ?? null)),
});
