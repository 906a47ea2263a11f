/** Caches metrics until the next minute of the clock, because clouds bill or limit the reads of metrics. */
import { type MetricWindow, minuteOf } from "../../../core/domain/usage/metrics.ts";
import { ROLLUP_S, type Rollup } from "../../../core/domain/usage/rollup.ts";
import { instantOfSeconds } from "../../../core/domain/wire/instant.ts";
import type { MetricScope, MetricStore } from "../../../core/ports/metric-store.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { CachedCalls } from "../../shared/calls/cached-calls.ts";

/** The maximum number of cached steps. A step needs less than 1 KB. */
const MAX_STEPS = 20_000;

interface Key {
  readonly scope: MetricScope;
  readonly window: MetricWindow;
}

/**
 * Shares concurrent reads, and does not cache failures. The delay of the store's metrics must be a whole number of
 * minutes. Then no new value can appear before the next minute, and the cache adds no delay.
 */
export const cachedMetrics = (store: MetricStore, clock: Pick<Clock, "now">): MetricStore => {
  const calls = new CachedCalls<Key, readonly (Rollup | null)[]>({
    clock,
    textOf: ({ scope: { owner, name }, window: { from, step, count } }) =>
      JSON.stringify([owner, name, String(from), step, count]),
    // The keys of a call have the same window.
    read: (keys) =>
      store.read(
        keys.map(({ scope }) => scope),
        (keys[0] as Key).window,
      ),
    expiryOf: (now) => instantOfSeconds(minuteOf(now) + ROLLUP_S),
    maxSize: MAX_STEPS,
    sizeOf: ({ length }) => length,
  });
  return {
    read: (scopes, window, options = {}) =>
      calls.getAll(
        scopes.map((scope) => ({ scope, window })),
        options,
      ),
  };
};
