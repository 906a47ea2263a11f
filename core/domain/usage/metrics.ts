/** Time series of a deployment's metrics, from rollups. */
import { z } from "zod";
import type { Capabilities, Feature } from "../wire/capabilities.ts";
import { type Instant, instantOfSeconds, secondsOf, timestampOf } from "../wire/instant.ts";
import {
  addRendered,
  addRollup,
  averageCpu,
  averageInstances,
  averageMemory,
  coldStartsOf,
  countObserved,
  createRollup,
  latencyQuantile,
  ROLLUP_S,
  type Rollup,
  requestsOf,
  statusClasses,
} from "./rollup.ts";

/** The capability of a series. */
type MetricFeature = Exclude<keyof Capabilities["metrics"], "retention_days">;

interface MetricFacts {
  readonly feature: MetricFeature;
  readonly unit: string;
  readonly measure: (rollup: Rollup) => number | null;
}

const quantile = (share: number): MetricFacts => ({
  feature: "latency",
  unit: "ms",
  measure: (rollup) => latencyQuantile(rollup, share),
});

const facts: Readonly<Record<string, MetricFacts>> = {
  ...Object.fromEntries(
    statusClasses.map((statusClass): [string, MetricFacts] => [
      `requests_${statusClass}`,
      { feature: "requests", unit: "requests", measure: (rollup) => requestsOf(rollup, statusClass) },
    ]),
  ),
  latency_p50: quantile(0.5),
  latency_p95: quantile(0.95),
  latency_p99: quantile(0.99),
  instances: { feature: "instances", unit: "instances", measure: averageInstances },
  cpu: { feature: "cpu", unit: "vCPU", measure: averageCpu },
  memory: { feature: "memory", unit: "bytes", measure: averageMemory },
  cold_starts: { feature: "cold_starts", unit: "starts", measure: coldStartsOf },
};

/** A period, divided into steps. Starts at a multiple of the step. */
export interface MetricWindow {
  readonly from: Instant;
  /** Seconds: a multiple of 60. */
  readonly step: number;
  readonly count: number;
}

/** The steps from which `windowOf` chooses, in seconds. */
const STEPS = [60, 300, 900, 3600, 21_600, 86_400];
/** The maximum number of points in a series if `windowOf` chooses the step. */
const CHOSEN_POINTS = 120;
/** The maximum number of points in a series if the client chooses the step. */
export const MAX_POINTS = 1500;

/**
 * Returns the window from the step that contains `since` to the step that contains `now`. If the window would have too
 * many points, returns the smallest step of `STEPS` that is valid.
 * @param step in seconds; undefined selects the smallest step of `STEPS` with at most 120 points
 */
export const windowOf = (
  since: Instant,
  now: Instant,
  step: number | undefined,
): MetricWindow | { readonly smallest: number } => {
  const windowFor = (size: number): MetricWindow => {
    const first = Math.floor(secondsOf(since) / size);
    return { from: instantOfSeconds(first * size), step: size, count: Math.floor(secondsOf(now) / size) - first + 1 };
  };
  const smallest = (max: number) => STEPS.find((size) => windowFor(size).count <= max) ?? (STEPS.at(-1) as number);
  const window = windowFor(step ?? smallest(CHOSEN_POINTS));
  return window.count <= MAX_POINTS ? window : { smallest: smallest(MAX_POINTS) };
};

/** A rollup, as counters or as rendered text, with the start of its minute in seconds since 1970. */
export type MinuteRollup = readonly [minute: number, rollup: Rollup | string];

/**
 * A time in a step, in seconds since 1970, and the milliseconds in that step for which the platform observed
 * deployments.
 */
export type ObservedTime = readonly [second: number, millis: number];

/**
 * Adds up rollups by step. A step without a rollup is null.
 * @param observed the time for which the platform observed deployments; may be summed by step
 * @param own the rollups of a deployment; a minute without activity has no rollup
 */
export const sumSteps = (
  { from, step, count }: MetricWindow,
  observed: Iterable<ObservedTime>,
  own: Iterable<MinuteRollup>,
): (Rollup | null)[] => {
  const start = secondsOf(from);
  const steps: (Rollup | null)[] = Array.from({ length: count }, () => null);
  /** Returns undefined for a time outside the window. */
  const sumAt = (second: number): Rollup | undefined => {
    const index = Math.floor((second - start) / step);
    if (index < 0 || index >= count) return undefined;
    const sum = steps[index] ?? createRollup();
    steps[index] = sum;
    return sum;
  };
  for (const [second, millis] of observed) {
    const sum = sumAt(second);
    if (sum !== undefined) countObserved(sum, millis);
  }
  for (const [minute, rollup] of own) {
    const sum = sumAt(minute);
    if (sum === undefined) continue;
    if (typeof rollup === "string") addRendered(sum, rollup);
    else addRollup(sum, rollup);
  }
  return steps;
};

/** Returns the start of an instant's minute, in seconds since 1970. */
export const minuteOf = (instant: Instant): number => Math.floor(secondsOf(instant) / ROLLUP_S) * ROLLUP_S;

/** The schema of the response of `GET /v1/metrics`. */
export const metricsSchema = z
  .object({
    since: z.string().meta({ format: "date-time", description: "The start of the first step." }),
    step: z.int().meta({ description: "The length of a step in seconds.", examples: [60] }),
    series: z.array(
      z.object({
        name: z.string().meta({ description: "The deployment." }),
        metric: z.string().meta({ examples: Object.keys(facts) }),
        unit: z.string().meta({ examples: ["requests", "ms", "bytes"] }),
        points: z.array(z.number().nullable()).meta({
          description:
            "A value for each step: a count, a quantile or an average. Null if the platform has no data. The last step " +
            "may be incomplete.",
        }),
      }),
    ),
  })
  .readonly();

export type Metrics = z.output<typeof metricsSchema>;
export type MetricSeries = Metrics["series"][number];

/** Rounds to three decimal places, because the measurements are not more precise. */
const rounded = (value: number | null): number | null => (value === null ? null : Math.round(value * 1000) / 1000);

const isSupported = (capabilities: Capabilities["metrics"], feature: MetricFeature): boolean =>
  capabilities[feature].supported;

/** Returns the series that the provider supports. */
export const seriesOf = (
  name: string,
  steps: readonly (Rollup | null)[],
  capabilities: Capabilities["metrics"],
): MetricSeries[] =>
  Object.entries(facts)
    .filter(([, { feature }]) => isSupported(capabilities, feature))
    .map(([metric, { unit, measure }]) => ({
      name,
      metric,
      unit,
      points: steps.map((rollup) => (rollup === null ? null : rounded(measure(rollup)))),
    }));

/** Returns a supported feature if the provider supports any series, and otherwise an unsupported one. */
export const anyMetric = ({ metrics: { retention_days: _days, ...series } }: Capabilities): Feature => {
  const features = Object.values(series);
  return features.find(({ supported }) => supported) ?? (features[0] as Feature);
};

export const metricsOf = ({ from, step }: MetricWindow, series: MetricSeries[]): Metrics => ({
  since: timestampOf(from),
  step,
  series,
});
