/**
 * Reads the metrics of Cloud Run services from Cloud Monitoring:
 * https://docs.cloud.google.com/monitoring/api/ref_v3/rest/v3/projects.timeSeries/list.
 * The metrics: https://docs.cloud.google.com/monitoring/api/metrics_gcp_p_z#gcp-run
 */
import { type Instant, timestampOf } from "../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, ResultAsync, safeTry } from "../../../core/result.ts";
import { isCallState } from "../../cloud/calls/provider-call.ts";
import { type GoogleRuntimeDeps, googleCalls } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { GcpLocation } from "../location.ts";
import type { Distribution } from "./distribution.ts";

/** Metrics of Cloud Run revisions, each with the label that its series keep in addition to the service. */
const runMetrics = {
  request_count: "response_code_class",
  request_latencies: undefined,
  "container/instance_count": undefined,
  "container/cpu/utilizations": undefined,
  "container/memory/utilizations": undefined,
  "container/startup_latencies": undefined,
} as const;

export type RunMetric = keyof typeof runMetrics;

export const runMetricNames = Object.keys(runMetrics) as readonly RunMetric[];

interface Point {
  readonly interval: { readonly endTime: string };
  readonly value: {
    readonly int64Value?: string;
    readonly doubleValue?: number;
    readonly distributionValue?: Distribution;
  };
}

export interface TimeSeries {
  readonly metric?: { readonly labels?: Readonly<Record<string, string>> };
  readonly resource?: { readonly labels?: Readonly<Record<string, string>> };
  readonly points?: readonly Point[];
}

interface Page {
  readonly timeSeries?: readonly TimeSeries[];
  readonly nextPageToken?: string;
}

/** The points of a call: each is the sum over `period` seconds, which end at the point's time. */
export interface Period {
  readonly from: Instant;
  readonly to: Instant;
  /** Seconds: a multiple of 60, the minimum of `alignmentPeriod`. */
  readonly period: number;
}

/** Timeout of one response, in milliseconds. By default, gaxios has no timeout. */
const CALL_TIMEOUT_MS = 20_000;

/** Reads one metric of several services, with one call per 100,000 points. */
export type ReadSeries = (
  metric: RunMetric,
  names: readonly DeploymentName[],
  period: Period,
  options?: CallOptions,
) => ResultAsync<readonly TimeSeries[], Unavailable>;

/**
 * Names of deployments contain no character that a filter treats specially:
 * https://docs.cloud.google.com/monitoring/api/v3/filters
 */
const filterOf = (metric: RunMetric, names: readonly DeploymentName[], region: string): string =>
  [
    `metric.type = "run.googleapis.com/${metric}"`,
    'resource.type = "cloud_run_revision"',
    `resource.labels.location = "${region}"`,
    `resource.labels.service_name = one_of(${names.map((name) => `"${name}"`).join(", ")})`,
  ].join(" AND ");

export const seriesReader = (
  { project, region }: GcpLocation,
  clients: ClientSource,
  runtime: GoogleRuntimeDeps,
): ReadSeries => {
  const call = googleCalls(runtime);

  const page = (query: URLSearchParams, { signal }: CallOptions): ResultAsync<Page, Unavailable> =>
    new ResultAsync(
      call({ what: "monitoring.timeSeries.list", signal }, async () => {
        const auth = await clients("auth");
        const url = `https://monitoring.googleapis.com/v3/projects/${project}/timeSeries?${query}`;
        const more = signal === undefined ? {} : { signal };
        return (await auth.request<Page>({ url, ...more, retry: false, timeout: CALL_TIMEOUT_MS })).data;
      }),
    ).orElse((error) => {
      if (!isCallState(error)) return err(error);
      // A project without data of a metric has no descriptor of it yet.
      if (error.code === "not_found") return ok({});
      return err(unavailable("Cloud Monitoring rejected the request for metrics. Try again.", 60, error.error));
    });

  return (metric, names, { from, to, period }, options = {}) => {
    const label = runMetrics[metric];
    const query = new URLSearchParams([
      ["filter", filterOf(metric, names, region)],
      ["interval.startTime", timestampOf(from)],
      ["interval.endTime", timestampOf(to)],
      ["aggregation.alignmentPeriod", `${period}s`],
      // Unlike ALIGN_DELTA, ALIGN_SUM does not interpolate periods without data. All metrics are sampled once a minute,
      // so the sum of a gauge is its average times the minutes.
      ["aggregation.perSeriesAligner", "ALIGN_SUM"],
      ["aggregation.crossSeriesReducer", "REDUCE_SUM"],
      ["aggregation.groupByFields", "resource.labels.service_name"],
      ["view", "FULL"],
    ]);
    if (label !== undefined) query.append("aggregation.groupByFields", `metric.labels.${label}`);
    return safeTry(async function* () {
      const all: TimeSeries[] = [];
      for (;;) {
        const { timeSeries = [], nextPageToken = "" } = yield* await page(query, options);
        all.push(...timeSeries);
        if (nextPageToken === "") return ok(all);
        query.set("pageToken", nextPageToken);
      }
    });
  };
};
