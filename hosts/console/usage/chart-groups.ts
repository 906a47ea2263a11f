/** The charts of a deployment, and the series of each. */

export interface ChartGroup {
  readonly title: string;
  readonly unit: "count" | "ms" | "bytes" | "cpu";
  /** Pairs of a metric and its label. */
  readonly lines: readonly (readonly [metric: string, label: string])[];
}

export const chartGroups: readonly ChartGroup[] = [
  {
    title: "Requests",
    unit: "count",
    lines: [
      ["requests_2xx", "2xx"],
      ["requests_3xx", "3xx"],
      ["requests_4xx", "4xx"],
      ["requests_5xx", "5xx"],
    ],
  },
  {
    title: "Latency",
    unit: "ms",
    lines: [
      ["latency_p50", "p50"],
      ["latency_p95", "p95"],
      ["latency_p99", "p99"],
    ],
  },
  { title: "Instances", unit: "count", lines: [["instances", "instances"]] },
  { title: "CPU", unit: "cpu", lines: [["cpu", "vCPU"]] },
  { title: "Memory", unit: "bytes", lines: [["memory", "memory"]] },
  { title: "Cold starts", unit: "count", lines: [["cold_starts", "starts"]] },
];

/** The ranges of the charts, in milliseconds. */
export const ranges: Readonly<Record<string, number>> = {
  "1h": 3_600_000,
  "6h": 6 * 3_600_000,
  "24h": 24 * 3_600_000,
  "7d": 7 * 24 * 3_600_000,
};

interface Series {
  readonly metric: string;
  readonly points: readonly (number | null)[];
}

/** Returns the lines of a chart that have data; empty if the platform measures none of them. */
export const linesOf = (
  group: ChartGroup,
  series: readonly Series[],
): readonly { label: string; points: readonly (number | null)[] }[] =>
  group.lines.flatMap(([metric, label]) => {
    const found = series.find((one) => one.metric === metric);
    return found === undefined ? [] : [{ label, points: found.points }];
  });
