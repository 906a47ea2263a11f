/** Reads the metrics of deployments as time series. */
import {
  anyMetric,
  type MetricSeries,
  type Metrics,
  type MetricWindow,
  metricsOf,
  seriesOf,
  windowOf,
} from "../../domain/usage/metrics.ts";
import type { Values } from "../../domain/wire/fields.ts";
import { plusMillis } from "../../domain/wire/instant.ts";
import { type Issue, issue } from "../../domain/wire/issue.ts";
import type { DeploymentName } from "../../domain/wire/names.ts";
import { metricsFields } from "../../domain/wire/requests.ts";
import { type ControlPlaneError, internal, rateLimited } from "../../errors.ts";
import { MAX_METRIC_SCOPES } from "../../ports/metric-store.ts";
import { err, ok, type Result, safeTry } from "../../result.ts";
import { LIST_MAX_AGE_MS } from "../deploy/deployments.ts";
import { ownService } from "../deploy/find-name.ts";
import type { Context } from "../pipeline/context.ts";
import { type Call, useCase } from "../pipeline/use-case.ts";

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

const checkWindow = (
  { since, step }: Partial<Values<typeof metricsFields>>,
  { ports }: Context,
): Result<{ readonly window: MetricWindow }, readonly Issue[]> => {
  const now = ports.clock.now();
  const { retention_days: days } = ports.provider.capabilities.metrics;
  const from = since ?? plusMillis(now, -HOUR_MS);
  if (from > now) return err([issue(["since"], "must be in the past", "value_error")]);
  // One more day, so that a client can round the oldest time down.
  if (from < plusMillis(now, -(days + 1) * DAY_MS))
    return err([
      issue(["since"], `must be at most ${days} days ago, because older metrics are deleted`, "value_error"),
    ]);
  const window = windowOf(from, now, step ?? undefined);
  return "smallest" in window
    ? err([issue(["step"], `must be at least ${window.smallest} for this period`, "greater_than_equal")])
    : ok({ window });
};

const readSeries = (
  { context, principal, input: { window }, options }: Call<{ readonly window: MetricWindow }>,
  names: readonly DeploymentName[],
) =>
  safeTry<Metrics, ControlPlaneError>(async function* () {
    const { capabilities, metrics } = context.ports.provider;
    if (metrics === undefined) return err(internal("The provider declares metrics without a store."));
    const series: MetricSeries[] = [];
    for (let at = 0; at < names.length; at += MAX_METRIC_SCOPES) {
      const scopes = names.slice(at, at + MAX_METRIC_SCOPES).map((name) => ({ owner: principal.account, name }));
      const all = yield* await metrics.read(scopes, window, options);
      scopes.forEach(({ name }, index) => {
        series.push(...seriesOf(name, all[index] ?? [], capabilities.metrics));
      });
    }
    return ok(metricsOf(window, series));
  });

/**
 * Returns the series of all deployments of the account, or of those in `names`. Runs one request per account at a time.
 */
export const getMetrics = useCase({
  fields: metricsFields,
  check: checkWindow,
  requires: anyMetric,
  authorize: (call) =>
    safeTry<readonly DeploymentName[], ControlPlaneError>(async function* () {
      const { context, principal, input, options } = call;
      if (input.names != null) {
        for (const name of input.names) yield* await ownService(call, name);
        return ok(input.names);
      }
      const { services } = context.ports.provider;
      const own = yield* await services.list(principal.account, { ...options, maxAgeMs: LIST_MAX_AGE_MS });
      return ok(own.map(({ name }) => name).sort());
    }),
  run: async (call, names) =>
    (await call.context.metricReads.runIfAvailable(call.principal.account, () => readSeries(call, names))) ??
    err(rateLimited("Your account already has a running request for metrics. Wait until it ends.", 1)),
});
