/** The part of a window for which a cloud has complete metrics of a service. Pure functions. */
import { type MetricWindow, minuteOf } from "../../../core/domain/usage/metrics.ts";
import { countObserved, createRollup, ROLLUP_S, type Rollup } from "../../../core/domain/usage/rollup.ts";
import { type Instant, parseInstant, plusMillis, secondsOf } from "../../../core/domain/wire/instant.ts";

/** Returns the shortest period of whole minutes that divides the step and gives at most `max` points. */
export const periodOf = ({ step, count }: MetricWindow, max: number): number => {
  const minutes = step / ROLLUP_S;
  for (let parts = minutes; parts > 1; parts--) if (minutes % parts === 0 && parts * count <= max) return step / parts;
  return step;
};

/** A range of time, in seconds since 1970. Both ends are multiples of the period. */
export interface Observed {
  readonly first: number;
  readonly end: number;
}

export interface ObservedOptions {
  readonly createdAt: string;
  readonly now: Instant;
  /** Seconds after which the metrics of a minute are complete. */
  readonly delay: number;
  readonly period: number;
}

/**
 * Returns the observed time within the window, or undefined if no time was observed. The observed time begins with the
 * first whole period after the creation of the service, because the period before it may contain metrics of an earlier
 * service with the same name.
 */
export const observedOf = (
  { from, step, count }: MetricWindow,
  { createdAt, now, delay, period }: ObservedOptions,
): Observed | undefined => {
  const start = secondsOf(from);
  const visible = minuteOf(plusMillis(now, -delay * 1000));
  const created = secondsOf(parseInstant(createdAt) ?? now);
  const first = created < start ? start : (Math.floor(created / period) + 1) * period;
  const end = Math.min(start + step * count, Math.floor(visible / period) * period);
  return first < end ? { first, end } : undefined;
};

/** Returns a rollup with only the observed time for each step, or null for a step that was not observed. */
export const observedSteps = ({ from, step, count }: MetricWindow, { first, end }: Observed): (Rollup | null)[] =>
  Array.from({ length: count }, (_, index) => {
    const start = secondsOf(from) + index * step;
    const seconds = Math.min(start + step, end) - Math.max(start, first);
    if (seconds <= 0) return null;
    const rollup = createRollup();
    countObserved(rollup, seconds * 1000);
    return rollup;
  });
