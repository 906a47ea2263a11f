/** Log entries in arrays, one a deployment, in the order of their positions. */
import type { Instant } from "../../core/domain/instant.ts";
import type { LogEntry, NewLogEntry } from "../../core/domain/log-entry.ts";
import type { LogStore } from "../../core/ports/log-store.ts";
import type { Clock } from "../../core/ports/system.ts";
import { okAsync } from "../../core/result.ts";
import { scopeKey, type World } from "./world.ts";

const place = (entry: NewLogEntry, last: LogEntry | undefined, now: Instant): LogEntry => {
  const instant = last !== undefined && last.instant > now ? last.instant : now;
  const ordinal = last?.instant === instant ? last.ordinal + 1 : 0;
  return { ...structuredClone(entry), instant, ordinal };
};

export const createMemoryLogs = (world: World, clock: Clock): LogStore => ({
  append: (entries) => {
    for (const entry of entries) {
      const key = scopeKey(entry.owner, entry.service);
      const kept = world.logs.get(key) ?? [];
      world.logs.set(key, kept);
      kept.push(place(entry, kept.at(-1), clock.now()));
    }
    return okAsync(undefined);
  },
  newest: ({ owner, service }, limit) =>
    okAsync(structuredClone((world.logs.get(scopeKey(owner, service)) ?? []).slice(-limit))),
});
