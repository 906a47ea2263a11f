/**
 * CloudWatch metrics of load balancers and ECS: GetMetricData and ListMetrics.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/APIReference/API_GetMetricData.html, .../API_ListMetrics.html,
 * .../AmazonCloudWatch/latest/monitoring/Statistics-definitions.html
 */
import { CloudWatchClient } from "@aws-sdk/client-cloudwatch";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { Faults } from "../../faults.ts";
import { clientOptions, jsonProtocol, type Message } from "../protocols.ts";
import { recorded } from "../requests/recorder.ts";
import { AwsError, serveAws } from "../server.ts";

const MINUTE_S = 60;
const DAY_S = 86_400;

/** Data points of a metric in one minute. */
export interface MinuteData {
  readonly namespace: string;
  readonly name: string;
  readonly dimensions: Readonly<Record<string, string>>;
  /** The start of the minute, in seconds since 1970. */
  readonly minute: number;
  readonly values: readonly number[];
}

const invalid = (message: string) => new AwsError("ValidationError", message);

/** `TC(a:b)`: the values above `a`, up to `b`. A bound may be missing. */
const TRIMMED_COUNT = /^TC\(([\d.]*):([\d.]*)\)$/;

const statistic = (stat: string, values: readonly number[]): number => {
  const sum = values.reduce((total, one) => total + one, 0);
  if (stat === "Sum") return sum;
  if (stat === "SampleCount") return values.length;
  if (stat === "Average") return sum / values.length;
  const [, low, high] = TRIMMED_COUNT.exec(stat) ?? [];
  if (low === undefined || high === undefined) throw invalid(`The fake does not support the statistic ${stat}`);
  return values.filter((one) => one > Number(low || -Infinity) && one <= Number(high || Infinity)).length;
};

const dimensionsOf = (list: Message): Record<string, string> =>
  Object.fromEntries((list ?? []).map(({ Name, Value }: Message) => [Name, Value]));

const keyOf = (namespace: string, name: string, dimensions: Readonly<Record<string, string>>): string =>
  JSON.stringify([namespace, name, Object.entries(dimensions).sort()]);

/** The SDK sends times as seconds since 1970. */
const secondsOf = (time: Message): number => (typeof time === "number" ? time : Date.parse(time) / 1000);

export const startFakeCloudWatchMetrics = async (clock: Pick<Clock, "now">) => {
  const faults = new Faults();
  const data: MinuteData[] = [];
  const limits = {
    /** "The default ... is 100,800" data points; tests may set less. */
    points: 100_800,
    /** "Up to 500 results are returned for any one call"; tests may set less. */
    metrics: 500,
    /** Seconds until a new metric is listed: "allow up to 15 minutes". Tests may set less. */
    listDelay: 900,
  };
  const now = () => millisOf(clock.now()) / 1000;

  const getMetricData = ({ MetricDataQueries, StartTime, EndTime, NextToken }: Message): Message => {
    if (MetricDataQueries.length > 500) throw invalid("A single GetMetricData call can include up to 500 queries.");
    const [start, end] = [secondsOf(StartTime), secondsOf(EndTime)];
    if (!(start < end)) throw invalid("The parameter StartTime must be less than the parameter EndTime.");
    const found = MetricDataQueries.flatMap(({ Id, MetricStat: { Metric, Period, Stat } }: Message) => {
      if (!/^[a-z]\w*$/.test(Id)) throw invalid("The value for Id must start with a lowercase letter.");
      if (!(Period >= MINUTE_S && Period % MINUTE_S === 0)) throw invalid("Period must be a multiple of 60.");
      const key = keyOf(Metric.Namespace, Metric.MetricName, dimensionsOf(Metric.Dimensions));
      const periods = new Map<number, number[]>();
      for (const one of data) {
        const isOwn = keyOf(one.namespace, one.name, one.dimensions) === key;
        // "Data points with a period of 60 seconds are available for 15 days."
        const isKept = Period >= 300 || one.minute >= now() - 15 * DAY_S;
        // The service sends a minute after its end. StartTime is inclusive, EndTime exclusive.
        const isVisible = one.minute + 2 * MINUTE_S <= now();
        if (!isOwn || !isKept || !isVisible || one.minute < start || one.minute >= end) continue;
        const at = start + Math.floor((one.minute - start) / Period) * Period;
        periods.set(at, [...(periods.get(at) ?? []), ...one.values]);
      }
      return [...periods].map(([at, values]) => ({ Id, at, value: statistic(Stat, values) }));
    });
    const from = Number(NextToken ?? 0);
    const page = found.slice(from, from + limits.points);
    const isMore = from + page.length < found.length;
    return {
      MetricDataResults: MetricDataQueries.map(({ Id }: Message) => {
        const own = page.filter((one: Message) => one.Id === Id);
        return {
          Id,
          Timestamps: own.map(({ at }: Message) => at),
          Values: own.map(({ value }: Message) => value),
          StatusCode: isMore ? "PartialData" : "Complete",
        };
      }),
      ...(isMore ? { NextToken: String(from + page.length) } : {}),
    };
  };

  const listMetrics = ({ Namespace, MetricName, Dimensions = [], NextToken }: Message): Message => {
    const all = new Map<string, Message>();
    for (const one of data) {
      // "ListMetrics doesn't return information about metrics if those metrics haven't reported data in the past two
      // weeks."
      const isListed = one.minute >= now() - 14 * DAY_S && one.minute + limits.listDelay <= now();
      const matches = Dimensions.every(
        ({ Name, Value }: Message) =>
          one.dimensions[Name] !== undefined && (Value === undefined || one.dimensions[Name] === Value),
      );
      if (!isListed || !matches || one.namespace !== Namespace || one.name !== MetricName) continue;
      const list = Object.entries(one.dimensions).map(([Name, Value]) => ({ Name, Value }));
      all.set(keyOf(one.namespace, one.name, one.dimensions), { Namespace, MetricName, Dimensions: list });
    }
    const from = Number(NextToken ?? 0);
    const Metrics = [...all.values()].slice(from, from + limits.metrics);
    return { Metrics, ...(from + Metrics.length < all.size ? { NextToken: String(from + Metrics.length) } : {}) };
  };

  const service = jsonProtocol(
    { GetMetricData: getMetricData, ListMetrics: listMetrics },
    { service: "GraniteServiceVersion20100801" },
  );
  const server = await serveAws(faults, service);
  const client = recorded("metrics", new CloudWatchClient(clientOptions(server.endpoint)));
  return {
    client,
    faults,
    data,
    limits,
    close: async () => {
      client.destroy();
      await server.close();
    },
  };
};
