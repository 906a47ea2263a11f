/**
 * `MetricStore` on CloudWatch. Each revision has its own target group and its own ECS service, with unique names.
 * Therefore, the metrics of a deployment never include those of an earlier deployment of the same name.
 */
import type { MetricWindow } from "../../../core/domain/usage/metrics.ts";
import {
  countInstance,
  countLatencies,
  countRequests,
  ROLLUP_S,
  type Rollup,
} from "../../../core/domain/usage/rollup.ts";
import { instantOfSeconds, parseInstant, secondsOf } from "../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { MetricScope, MetricStore } from "../../../core/ports/metric-store.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import { cachedMetrics } from "../../cloud/usage/cached-metrics.ts";
import { type Observed, observedOf, observedSteps, periodOf } from "../../cloud/usage/observed-steps.ts";
import { type AwsRuntimeDeps, awsCalls, commandSender } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { AwsConfig } from "../config.ts";
import { sharedByBalancer } from "../deploy/balancers.ts";
import { ecsFault } from "../deploy/ecs-faults.ts";
import type { HeldRecord } from "../deploy/records/record.ts";
import type { Records } from "../deploy/records/records.ts";
import { servingOf } from "../deploy/records/service.ts";
import { createCloudWatch, type Period, type Points, type Statistic } from "./cloudwatch.ts";
import { BALANCER_NAMESPACE, balancerOf, createTargetGroups } from "./target-groups.ts";

/**
 * Seconds after which the metrics of a minute are complete. The load balancer and ECS send their metrics every minute
 * (https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-cloudwatch-metrics.html,
 * https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cloudwatch-metrics.html). AWS does not document when a
 * metric is complete.
 */
export const METRIC_DELAY_S = 180;

/** The maximum number of points per series. A call returns at most 100,800 points of all series. */
const MAX_POINTS = 300;

/** The maximum number of a deployment's revisions whose metrics are read, newest first. */
const MAX_REVISIONS = 10;

const classes = ["2xx", "3xx", "4xx", "5xx"] as const;

/** Upper bounds of the latency buckets, in milliseconds. The last bucket has no upper bound. */
const LATENCY_BOUNDS = Array.from({ length: 15 }, (_, index) => 4 * 2 ** index);

/** The latency that represents the last bucket: the maximum timeout of a request. */
const LONGEST_MS = 3_600_000;

/** The trimmed counts of the buckets: "TC(a:b)" counts the values above `a` seconds, up to `b`. */
const buckets = [...LATENCY_BOUNDS, LONGEST_MS].map((millis, index) => {
  const [low, high] = [LATENCY_BOUNDS[index - 1], LATENCY_BOUNDS[index]];
  const text = (bound: number | undefined) => (bound === undefined ? "" : String(bound / 1000));
  return { millis, stat: `TC(${text(low)}:${text(high)})` };
});

interface Observation {
  readonly scope: MetricScope;
  readonly record: HeldRecord;
  readonly observed: Observed;
}

interface Measured extends Omit<Observation, "scope"> {
  readonly groups: ReadonlyMap<string, string>;
}

/** The statistics of a revision, in the order that `addPoints` expects. */
const statisticsOf = (balancer: string, group: string, cluster: string, revision: string): readonly Statistic[] => {
  const target = (MetricName: string) => ({
    Namespace: BALANCER_NAMESPACE,
    MetricName,
    Dimensions: [
      { Name: "LoadBalancer", Value: balancer },
      { Name: "TargetGroup", Value: group },
    ],
  });
  const service = (MetricName: string) => ({
    Namespace: "AWS/ECS",
    MetricName,
    Dimensions: [
      { Name: "ClusterName", Value: cluster },
      { Name: "ServiceName", Value: revision },
    ],
  });
  return [
    ...classes.map((one) => ({ metric: target(`HTTPCode_Target_${one.toUpperCase()}_Count`), stat: "Sum" })),
    ...buckets.map(({ stat }) => ({ metric: target("TargetResponseTime"), stat })),
    { metric: service("CPUUtilization"), stat: "SampleCount" },
    { metric: service("CPUUtilization"), stat: "Average" },
    { metric: service("MemoryUtilization"), stat: "Average" },
  ];
};

const STATISTICS = statisticsOf("", "", "", "").length;

/** Adds the points of a revision to the steps of its deployment. */
const addPoints = (
  points: readonly Points[],
  { cpu, memory }: { readonly cpu: number; readonly memory: number },
  stepAt: (start: number) => Rollup | null,
): void => {
  const each = (all: Points | undefined, add: (rollup: Rollup, value: number, start: number) => void): void => {
    for (const [start, value] of all ?? []) {
      const rollup = stepAt(start);
      if (rollup !== null) add(rollup, value, start);
    }
  };
  for (const [index, one] of classes.entries())
    each(points[index], (rollup, value) => countRequests(rollup, one, value));
  for (const [index, { millis }] of buckets.entries())
    each(points[classes.length + index], (rollup, value) => countLatencies(rollup, millis, value));
  const [samples, cpuShare, memoryShare] = points.slice(-3);
  // Each task has one sample per minute: "the Sample Count statistic for CPUUtilization ... the number of tasks in the
  // RUNNING state" (https://docs.aws.amazon.com/AmazonECS/latest/developerguide/cloudwatch-metrics.html).
  each(samples, (rollup, count, start) => {
    const millis = count * ROLLUP_S * 1000;
    const memoryBytes = ((memoryShare?.get(start) ?? 0) / 100) * memory;
    countInstance(rollup, { millis, memoryBytes, cpuMillis: ((cpuShare?.get(start) ?? 0) / 100) * cpu * millis });
  });
};

/** Returns the shortest period that contains all observations. */
const periodFor = (all: readonly Measured[], period: number): Period => ({
  from: instantOfSeconds(Math.min(...all.map(({ observed }) => observed.first))),
  to: instantOfSeconds(Math.max(...all.map(({ observed }) => observed.end))),
  period,
});

/**
 * Returns the revisions that may have metrics since `from`, newest first. A rollout removes the replaced revisions once
 * their requests have ended.
 * @param from in seconds since 1970
 */
const revisionsSince = ({ state, former, releases }: HeldRecord, from: number): readonly string[] => {
  const replaced = releases.flatMap(({ revision }, index): string[] => {
    const at = releases[index + 1]?.at;
    const instant = at == null ? undefined : parseInstant(at);
    return instant !== undefined && secondsOf(instant) + LONGEST_MS / 1000 < from ? [] : [revision];
  });
  return [...new Set([state.revision, ...former.map(({ id }) => id), ...replaced.reverse()])].slice(0, MAX_REVISIONS);
};

/** @param records lists the account's deployments, with their revisions */
export const createAwsMetrics = (
  { shared }: Pick<AwsConfig, "shared">,
  clients: ClientSource,
  runtime: AwsRuntimeDeps,
  records: Pick<Records, "list">,
): MetricStore => {
  const call = awsCalls(runtime);
  const cloudWatch = createCloudWatch(clients, call);
  const groups = createTargetGroups(
    cloudWatch,
    commandSender("balancer", "elbv2", clients, awsCalls(runtime, ecsFault)),
    runtime.clock,
  );
  const balancers = sharedByBalancer(shared).map(({ listenerArn }) => balancerOf(listenerArn));

  /** Returns the deployments among the scopes that have complete metrics within the window. */
  const observed = (
    scopes: readonly MetricScope[],
    window: MetricWindow,
    period: number,
    options: CallOptions,
  ): ResultAsync<readonly Observation[], Unavailable> =>
    safeTry(async function* () {
      const all: Observation[] = [];
      const now = runtime.clock.now();
      for (const owner of new Set(scopes.map((scope) => scope.owner))) {
        const own = yield* await records.list(owner, options);
        for (const scope of scopes.filter((one) => one.owner === owner)) {
          const record = own.find(({ attempted }) => attempted.name === scope.name);
          const { createdAt } = record ?? {};
          const time = createdAt && observedOf(window, { createdAt, now, delay: METRIC_DELAY_S, period });
          if (record !== undefined && time) all.push({ scope, record, observed: time });
        }
      }
      return ok(all);
    });

  const measured = (
    ...[scopes, window, period, options]: Parameters<typeof observed>
  ): ResultAsync<ReadonlyMap<MetricScope, Measured>, Unavailable> =>
    safeTry(async function* () {
      const all = yield* await observed(scopes, window, period, options);
      if (all.length === 0) return ok(new Map());
      const revisions = all.map(({ record, observed: { first } }) => ({
        balancer: balancers[record.balancer] ?? "",
        revisions: revisionsSince(record, first),
        serving: servingOf(record)[0]?.id,
      }));
      const found = yield* await groups.find(revisions, options);
      return ok(
        new Map(all.map(({ scope, ...one }, index) => [scope, { ...one, groups: found[index] ?? new Map() }] as const)),
      );
    });

  const stepsOf = (
    { record, observed }: Measured,
    window: MetricWindow,
    points: readonly Points[],
  ): readonly (Rollup | null)[] => {
    const steps = observedSteps(window, observed);
    const from = secondsOf(window.from);
    const stepAt = (start: number): Rollup | null =>
      start < observed.first || start >= observed.end
        ? null
        : (steps[Math.floor((start - from) / window.step)] ?? null);
    const { template } = servingOf(record)[0] ?? { template: record.attempted };
    for (let at = 0; at < points.length; at += STATISTICS)
      addPoints(points.slice(at, at + STATISTICS), template, stepAt);
    return steps;
  };

  const store: MetricStore = {
    read: (scopes, window, options = {}) =>
      safeTry(async function* () {
        const period = periodOf(window, MAX_POINTS);
        const found = yield* await measured(scopes, window, period, options);
        const all = [...found.values()];
        const statistics = all.map(({ record, groups: own }) =>
          [...own].flatMap(([revision, group]) =>
            statisticsOf(balancers[record.balancer] ?? "", group, shared.cluster, revision),
          ),
        );
        const points =
          all.length === 0 ? [] : yield* await cloudWatch.read(statistics.flat(), periodFor(all, period), options);
        let at = 0;
        const steps = new Map(
          all.map((one, index) => {
            const own = points.slice(at, at + (statistics[index]?.length ?? 0));
            at += own.length;
            return [one, stepsOf(one, window, own)] as const;
          }),
        );
        return ok(
          scopes.map((scope) => {
            const one = found.get(scope);
            return (one && steps.get(one)) ?? Array.from({ length: window.count }, () => null);
          }),
        );
      }),
  };
  return cachedMetrics(store, runtime.clock);
};
