/**
 * `MetricStore` on Cloud Monitoring. Cloud Run samples its metrics every 60 seconds. A metric has only the name of its
 * service, and a later service of another account may have the same name. Therefore, the store ignores metrics that are
 * older than the account's current service.
 */

import type { Service } from "../../../core/domain/deploy/service-template.ts";
import type { MetricWindow } from "../../../core/domain/usage/metrics.ts";
import {
  countColdStart,
  countInstance,
  countLatencies,
  countRequests,
  ROLLUP_S,
  type Rollup,
  statusClasses,
} from "../../../core/domain/usage/rollup.ts";
import { type Instant, instantOfSeconds, parseInstant, secondsOf } from "../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { MetricScope, MetricStore } from "../../../core/ports/metric-store.ts";
import type { ServicePlatform } from "../../../core/ports/service-platform.ts";
import { ok, ResultAsync, safeTry } from "../../../core/result.ts";
import { cachedMetrics } from "../../cloud/usage/cached-metrics.ts";
import { type Observed, observedOf, observedSteps, periodOf } from "../../cloud/usage/observed-steps.ts";
import type { GoogleRuntimeDeps } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { GcpLocation } from "../location.ts";
import { bucketsOf, countOf } from "./distribution.ts";
import { type Period, type RunMetric, runMetricNames, seriesReader, type TimeSeries } from "./time-series.ts";

/**
 * Seconds after which the metrics of a minute are complete: "Sampled every 60 seconds. After sampling, data is not
 * visible for up to" 120 or 180 seconds, depending on the metric
 * (https://docs.cloud.google.com/monitoring/api/metrics_gcp_p_z#gcp-run).
 */
export const METRIC_DELAY_S = 240;

/** The maximum number of points per series. */
const MAX_POINTS = 1500;

/** How old the list of services may be, in milliseconds. */
const LIST_MAX_AGE_MS = 5000;

/** The series of a service, by metric. */
type Values = Partial<Record<RunMetric, TimeSeries[]>>;

interface Measured {
  readonly service: Service;
  readonly observed: Observed;
}

/** Calls `add` for each point of an observed step. */
const forEachPoint = (
  series: readonly TimeSeries[],
  stepAt: (end: number) => Rollup | null,
  add: (
    rollup: Rollup,
    value: NonNullable<TimeSeries["points"]>[number]["value"],
    one: TimeSeries,
    end: number,
  ) => void,
): void => {
  for (const one of series)
    for (const { interval, value } of one.points ?? []) {
      const end = secondsOf(parseInstant(interval.endTime) ?? (0n as Instant));
      const rollup = stepAt(end);
      if (rollup !== null) add(rollup, value, one, end);
    }
};

/** Adds the points of a service to its steps. */
const addPoints = (
  values: Values,
  { cpu, memory }: { readonly cpu: number; readonly memory: number },
  stepAt: (end: number) => Rollup | null,
): void => {
  forEachPoint(values.request_count ?? [], stepAt, (rollup, { int64Value = "0" }, { metric }) => {
    const statusClass = statusClasses.find((one) => one === metric?.labels?.["response_code_class"]);
    if (statusClass !== undefined) countRequests(rollup, statusClass, Number(int64Value));
  });
  forEachPoint(values.request_latencies ?? [], stepAt, (rollup, { distributionValue = {} }) => {
    for (const [count, millis] of bucketsOf(distributionValue)) countLatencies(rollup, millis, count);
  });
  forEachPoint(values["container/startup_latencies"] ?? [], stepAt, (rollup, { distributionValue = {} }) =>
    countColdStart(rollup, countOf(distributionValue)),
  );
  /** The mean utilization of a metric, by the end of the period. */
  const meansOf = (metric: RunMetric) => {
    const means = new Map<number, number>();
    forEachPoint(values[metric] ?? [], stepAt, (_rollup, { distributionValue = {} }, _series, end) =>
      means.set(end, distributionValue.mean ?? 0),
    );
    return means;
  };
  const [cpuMeans, memoryMeans] = [meansOf("container/cpu/utilizations"), meansOf("container/memory/utilizations")];
  forEachPoint(
    values["container/instance_count"] ?? [],
    stepAt,
    (rollup, { int64Value, doubleValue }, _series, end) => {
      // Each sample represents a minute.
      const millis = Number(int64Value ?? doubleValue ?? 0) * ROLLUP_S * 1000;
      const memoryBytes = (memoryMeans.get(end) ?? 0) * memory;
      countInstance(rollup, { millis, memoryBytes, cpuMillis: (cpuMeans.get(end) ?? 0) * cpu * millis });
    },
  );
};

/** @param services lists the account's services, with the time of their creation */
export const createGcpMetrics = (
  location: GcpLocation,
  clients: ClientSource,
  runtime: GoogleRuntimeDeps,
  services: Pick<ServicePlatform, "list">,
): MetricStore => {
  const read = seriesReader(location, clients, runtime);

  /** Reads all metrics of services. Makes one call per metric, regardless of the number of services. */
  const readAll = (all: readonly Measured[], seconds: number, signal: AbortSignal | undefined) => {
    const names = all.map(({ service }) => service.name);
    const period: Period = {
      from: instantOfSeconds(Math.min(...all.map(({ observed }) => observed.first))),
      to: instantOfSeconds(Math.max(...all.map(({ observed }) => observed.end))),
      period: seconds,
    };
    const options = signal === undefined ? {} : { signal };
    return ResultAsync.combine(
      runMetricNames.map((metric) => read(metric, names, period, options).map((series) => [metric, series] as const)),
    ).map(
      (found) =>
        new Map(
          names.map((name): [string, Values] => [
            name,
            Object.fromEntries(
              found.map(([metric, series]) => [
                metric,
                series.filter(({ resource }) => resource?.labels?.["service_name"] === name),
              ]),
            ),
          ]),
        ),
    );
  };

  /** Returns the services among the scopes that have complete metrics within the window. */
  const measured = (
    scopes: readonly MetricScope[],
    window: MetricWindow,
    period: number,
    signal: AbortSignal | undefined,
  ): ResultAsync<ReadonlyMap<MetricScope, Measured>, Unavailable> =>
    safeTry(async function* () {
      const found = new Map<MetricScope, Measured>();
      for (const owner of new Set(scopes.map((scope) => scope.owner))) {
        const options = signal === undefined ? {} : { signal };
        const own = yield* await services.list(owner, { maxAgeMs: LIST_MAX_AGE_MS, ...options });
        for (const scope of scopes.filter((one) => one.owner === owner)) {
          const service = own.find(({ name }) => name === scope.name);
          const now = runtime.clock.now();
          const observed =
            service && observedOf(window, { createdAt: service.createdAt, now, delay: METRIC_DELAY_S, period });
          if (service !== undefined && observed !== undefined) found.set(scope, { service, observed });
        }
      }
      return ok(found);
    });

  const stepsOf = (
    { service, observed }: Measured,
    window: MetricWindow,
    period: number,
    values: Values,
  ): readonly (Rollup | null)[] => {
    const steps = observedSteps(window, observed);
    const start = secondsOf(window.from);
    const stepAt = (end: number): Rollup | null =>
      end - period < observed.first || end > observed.end
        ? null
        : (steps[Math.ceil((end - start) / window.step) - 1] ?? null);
    addPoints(values, service.serving[0]?.template ?? service.attempted, stepAt);
    return steps;
  };

  const store: MetricStore = {
    read: (scopes, window, { signal } = {}) =>
      safeTry(async function* () {
        const period = periodOf(window, MAX_POINTS);
        const found = yield* await measured(scopes, window, period, signal);
        const all = [...found.values()];
        const values = all.length === 0 ? new Map<string, Values>() : yield* await readAll(all, period, signal);
        return ok(
          scopes.map((scope) => {
            const one = found.get(scope);
            if (one === undefined) return Array.from({ length: window.count }, () => null);
            return stepsOf(one, window, period, values.get(scope.name) ?? {});
          }),
        );
      }),
  };
  return cachedMetrics(store, runtime.clock);
};
