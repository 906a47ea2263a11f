/**
 * Calls to CloudWatch: https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html and
 * .../API_ListMetrics.html
 */
import type { DimensionFilter, Metric, MetricDataQuery } from "@aws-sdk/client-cloudwatch";
import { type Instant, millisOf } from "../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import type { ProviderCall } from "../../cloud/calls/provider-call.ts";
import { commandSender, throwState } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";

/** "A single GetMetricData call can include as many as 500 MetricDataQuery structures" (GetMetricDataInput). */
const MAX_QUERIES = 500;

export interface Statistic {
  readonly metric: Metric;
  /** A statistic, such as `Sum` or `TC(0.1:0.2)`: .../monitoring/Statistics-definitions.html */
  readonly stat: string;
}

/** Both times are multiples of the period. */
export interface Period {
  readonly from: Instant;
  readonly to: Instant;
  /** Seconds: a multiple of 60. */
  readonly period: number;
}

/** The values of a statistic, by the start of their period in seconds since 1970. */
export type Points = ReadonlyMap<number, number>;

export interface MetricFilter {
  readonly Namespace: string;
  readonly MetricName: string;
  /** A dimension without a value matches all values. */
  readonly Dimensions: DimensionFilter[];
}

export interface CloudWatch {
  /** Returns the points of each statistic. One call returns at most 500 statistics and 100,800 points. */
  read(
    statistics: readonly Statistic[],
    period: Period,
    options: CallOptions,
  ): ResultAsync<readonly Points[], Unavailable>;
  /** Returns the metrics that match and that had data within two weeks, with one call per 500. */
  list(filter: MetricFilter, options: CallOptions): ResultAsync<readonly Metric[], Unavailable>;
}

export const createCloudWatch = (clients: ClientSource, call: ProviderCall): CloudWatch => {
  const send = commandSender("metrics", "cloudwatch", clients, call);

  const readSome = (
    statistics: readonly Statistic[],
    { from, to, period }: Period,
    options: CallOptions,
  ): ResultAsync<readonly Points[], Unavailable> =>
    safeTry(async function* () {
      const points = statistics.map(() => new Map<number, number>());
      const queries = statistics.map(
        ({ metric, stat }, index): MetricDataQuery => ({
          Id: `q${index}`,
          MetricStat: { Metric: metric, Period: period, Stat: stat },
        }),
      );
      const times = { StartTime: new Date(millisOf(from)), EndTime: new Date(millisOf(to)) };
      for (let NextToken: string | undefined; ; ) {
        const input = { MetricDataQueries: queries, ...times, ...(NextToken === undefined ? {} : { NextToken }) };
        const page = yield* await send("GetMetricDataCommand", input, options).mapErr(throwState);
        // A series may continue on the next page.
        for (const { Id = "", Timestamps = [], Values = [] } of page.MetricDataResults ?? [])
          Timestamps.forEach((time, at) => {
            points[Number(Id.slice(1))]?.set(time.getTime() / 1000, Values[at] ?? 0);
          });
        NextToken = page.NextToken;
        if (NextToken === undefined) return ok(points);
      }
    });

  return {
    read: (statistics, period, options) =>
      safeTry(async function* () {
        const all: Points[] = [];
        for (let at = 0; at < statistics.length; at += MAX_QUERIES)
          all.push(...(yield* await readSome(statistics.slice(at, at + MAX_QUERIES), period, options)));
        return ok(all);
      }),

    list: ({ Namespace, MetricName, Dimensions }, options) =>
      safeTry(async function* () {
        const all: Metric[] = [];
        for (let NextToken: string | undefined; ; ) {
          const input = { Namespace, MetricName, Dimensions, ...(NextToken === undefined ? {} : { NextToken }) };
          const page = yield* await send("ListMetricsCommand", input, options).mapErr(throwState);
          all.push(...(page.Metrics ?? []));
          NextToken = page.NextToken;
          if (NextToken === undefined) return ok(all);
        }
      }),
  };
};
