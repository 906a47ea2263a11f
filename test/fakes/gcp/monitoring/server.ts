/**
 * `projects.timeSeries.list` of Cloud Monitoring, for the metrics of Cloud Run:
 * https://docs.cloud.google.com/monitoring/api/ref_v3/rest/v3/projects.timeSeries/list, with the aligner ALIGN_SUM and
 * the reducer REDUCE_SUM. Metrics: https://docs.cloud.google.com/monitoring/api/metrics_gcp_p_z#gcp-run
 */
import { millisOf, parseInstant } from "../../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { Faults } from "../../faults.ts";
import { RestError, type RestMethod, type RestRequest, type RestServer, serveRest } from "../rest-server.ts";
import { PROJECT, REGION } from "../test-project.ts";

const MINUTE_MS = 60_000;

/** "After sampling, data is not visible for up to" 120 seconds for containers, and 180 for requests. */
const delayOf = (metric: string): number => (metric.startsWith("container/") ? 120_000 : 180_000);

/** The metrics of one minute, which ends at `end`. */
export interface Sample {
  readonly service: string;
  readonly revision?: string;
  /** In milliseconds since the epoch. */
  readonly end: number;
  /** Requests by `response_code_class`. */
  readonly requests?: Readonly<Record<string, number>>;
  /** In milliseconds. */
  readonly latencies?: readonly number[];
  readonly instances?: number;
  /** Utilizations of the instances, from 0 to 1. */
  readonly cpu?: readonly number[];
  readonly memory?: readonly number[];
  readonly starts?: readonly number[];
}

/** Exponential buckets: bucket `i` ends at `scale * growthFactor ** i`. */
const BUCKETS = {
  request_latencies: { numFiniteBuckets: 66, growthFactor: 1.4, scale: 1 },
  "container/startup_latencies": { numFiniteBuckets: 66, growthFactor: 1.4, scale: 1 },
  "container/cpu/utilizations": { numFiniteBuckets: 100, growthFactor: 1.1, scale: 0.001 },
  "container/memory/utilizations": { numFiniteBuckets: 100, growthFactor: 1.1, scale: 0.001 },
} as const;

const distributionOf = (metric: keyof typeof BUCKETS, values: readonly number[]) => {
  const options = BUCKETS[metric];
  const counts: number[] = [];
  for (const value of values) {
    const bucket =
      value < options.scale ? 0 : Math.floor(Math.log(value / options.scale) / Math.log(options.growthFactor)) + 1;
    for (let at = counts.length; at <= bucket; at++) counts[at] = 0;
    counts[bucket] = (counts[bucket] ?? 0) + 1;
  }
  const mean = values.length === 0 ? 0 : values.reduce((sum, one) => sum + one, 0) / values.length;
  // Google's JSON omits zeros.
  return {
    distributionValue: {
      ...(values.length === 0 ? {} : { count: String(values.length), mean, bucketCounts: counts.map(String) }),
      bucketOptions: { exponentialBuckets: options },
    },
  };
};

/** A value of a sample, with the metric's label. */
interface Part {
  readonly label?: readonly [string, string];
  readonly number?: number;
  readonly values?: readonly number[];
}

const partsOf: Readonly<Record<string, (sample: Sample) => readonly Part[]>> = {
  request_count: ({ requests = {} }) =>
    Object.entries(requests).map(([name, number]) => ({ label: ["response_code_class", name], number })),
  request_latencies: ({ latencies }) => (latencies === undefined ? [] : [{ values: latencies }]),
  "container/instance_count": ({ instances }) => (instances === undefined ? [] : [{ number: instances }]),
  "container/cpu/utilizations": ({ cpu }) => (cpu === undefined ? [] : [{ values: cpu }]),
  "container/memory/utilizations": ({ memory }) => (memory === undefined ? [] : [{ values: memory }]),
  "container/startup_latencies": ({ starts }) => (starts === undefined ? [] : [{ values: starts }]),
};

const invalid = (message: string): RestError => new RestError(400, "badRequest", message);

const FILTER =
  /^metric\.type = "run\.googleapis\.com\/([^"]+)" AND resource\.type = "cloud_run_revision" AND resource\.labels\.location = "([^"]+)" AND resource\.labels\.service_name = one_of\(([^)]*)\)$/;

interface Query {
  readonly metric: string;
  readonly services: readonly string[];
  readonly start: number;
  readonly end: number;
  readonly period: number;
  readonly groupBy: readonly string[];
}

const timeOf = (query: URLSearchParams, name: string): number => {
  const instant = parseInstant(query.get(name) ?? "");
  if (instant === undefined) throw invalid(`Field ${name} had an invalid value.`);
  return millisOf(instant);
};

const queryOf = (query: URLSearchParams): Query => {
  const [, metric = "", location = "", list = ""] = FILTER.exec(query.get("filter") ?? "") ?? [];
  if (partsOf[metric] === undefined) throw invalid("Field filter had an invalid value.");
  if (query.get("aggregation.perSeriesAligner") !== "ALIGN_SUM") throw invalid("the fake supports only ALIGN_SUM");
  if (query.get("aggregation.crossSeriesReducer") !== "REDUCE_SUM") throw invalid("the fake supports only REDUCE_SUM");
  const period = Number(/^(\d+)s$/.exec(query.get("aggregation.alignmentPeriod") ?? "")?.[1]) * 1000;
  // "The value must be at least 60 seconds."
  if (!(period >= MINUTE_MS)) throw invalid("Field aggregation.alignmentPeriod must be at least 60 seconds.");
  const [start, end] = [timeOf(query, "interval.startTime"), timeOf(query, "interval.endTime")];
  // "The start time must not be later than the end time."
  if (start > end) throw invalid("Field interval.startTime must not be later than the end time.");
  const services = location === REGION ? list.split(",").map((one) => one.trim().replaceAll('"', "")) : [];
  return { metric, services, start, end, period, groupBy: query.getAll("aggregation.groupByFields") };
};

interface Group {
  readonly resource: Record<string, string>;
  readonly labels: Record<string, string>;
  /** By the end of the period. */
  readonly parts: Map<number, Part[]>;
}

export class FakeMonitoring {
  readonly faults = new Faults();
  readonly samples: Sample[] = [];
  /** "the effective page_size is 100,000 results"; tests may set less. */
  pageSize = 100_000;
  readonly #clock: Pick<Clock, "now">;

  constructor(clock: Pick<Clock, "now">) {
    this.#clock = clock;
  }

  open(): Promise<RestServer> {
    return serveRest({
      host: "monitoring.googleapis.com",
      faults: this.faults,
      route: (request) => this.#route(request),
    });
  }

  #route({ verb, url }: RestRequest): RestMethod | undefined {
    if (verb !== "GET" || url.pathname !== `/v3/projects/${PROJECT}/timeSeries`) return undefined;
    return { method: "monitoring.timeSeries.list", act: () => this.#list(url.searchParams) };
  }

  #list(params: URLSearchParams): object {
    const query = queryOf(params);
    // A metric has no descriptor in a project that has never written it.
    if (!this.samples.some((sample) => (partsOf[query.metric]?.(sample) ?? []).length > 0))
      throw new RestError(
        404,
        "notFound",
        `Cannot find metric(s) that match type = "run.googleapis.com/${query.metric}".`,
      );
    const all = this.#groups(query).flatMap((group) => this.#points(query, group).map((point) => ({ group, point })));
    const from = Number(params.get("pageToken") ?? 0);
    const page = all.slice(from, from + this.pageSize);
    const series = Map.groupBy(page, ({ group }) => group);
    const isInteger = query.metric === "request_count" || query.metric === "container/instance_count";
    return {
      ...(page.length === 0
        ? {}
        : {
            timeSeries: [...series].map(([{ resource, labels }, points]) => ({
              metric: { type: `run.googleapis.com/${query.metric}`, labels },
              resource: { type: "cloud_run_revision", labels: resource },
              metricKind: query.metric === "container/instance_count" ? "GAUGE" : "DELTA",
              valueType: isInteger ? "INT64" : "DISTRIBUTION",
              points: points.map(({ point }) => point),
            })),
          }),
      ...(from + page.length < all.length ? { nextPageToken: String(from + page.length) } : {}),
      unit: "1",
    };
  }

  /** The time series after the reduction: one for each combination of the labels in `groupByFields`. */
  #groups({ metric, services, start, end, period, groupBy }: Query): Group[] {
    const groups = new Map<string, Group>();
    const now = millisOf(this.#clock.now());
    for (const sample of this.samples) {
      const isVisible = sample.end + delayOf(metric) <= now;
      if (!isVisible || !services.includes(sample.service) || sample.end <= start || sample.end > end) continue;
      // "a single data point for each alignment_period with end timestamp at the end of the period"
      const at = end - Math.floor((end - sample.end) / period) * period;
      for (const part of partsOf[metric]?.(sample) ?? []) {
        const resource = groupBy.includes("resource.labels.service_name") ? { service_name: sample.service } : {};
        const isKept = part.label !== undefined && groupBy.includes(`metric.labels.${part.label[0]}`);
        const labels = isKept ? Object.fromEntries([part.label as [string, string]]) : {};
        const key = JSON.stringify([resource, labels]);
        const group: Group = groups.get(key) ?? {
          resource: resource as Record<string, string>,
          labels,
          parts: new Map(),
        };
        groups.set(key, group);
        group.parts.set(at, [...(group.parts.get(at) ?? []), part]);
      }
    }
    return [...groups.values()];
  }

  /** "The points in each time series are currently returned in reverse time order." */
  #points({ metric, period }: Query, { parts }: Group): object[] {
    return [...parts]
      .sort(([a], [b]) => b - a)
      .map(([end, all]) => ({
        interval: { startTime: new Date(end - period).toISOString(), endTime: new Date(end).toISOString() },
        value:
          all[0]?.values === undefined
            ? { int64Value: String(all.reduce((sum, { number = 0 }) => sum + number, 0)) }
            : distributionOf(
                metric as keyof typeof BUCKETS,
                all.flatMap(({ values = [] }) => values),
              ),
      }));
  }
}
