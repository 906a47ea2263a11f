/** `portside metrics NAME` */
import type { MetricSeries, Metrics } from "../../../core/domain/usage/metrics.ts";
import { type Instant, parseInstant, plusMillis, timestampOf } from "../../../core/domain/wire/instant.ts";
import { normalizeDeploymentName } from "../../../core/domain/wire/names.ts";
import { option } from "../arguments.ts";
import { clientFor } from "../client.ts";
import { type Command, clientOptions } from "../command.ts";
import { readSince } from "../logs/since.ts";
import { canDraw, paint } from "../terminal/colour.ts";
import { type Io, print, printJson, say } from "../terminal/io.ts";
import { sparkline } from "../terminal/sparkline.ts";
import { printTable } from "../terminal/table.ts";
import { formatSize } from "../volumes/transfer/format.ts";

const CHART_WIDTH = 60;

const format = (value: number | null, unit: string): string =>
  value === null ? "-" : unit === "bytes" ? formatSize(value) : String(value);

const summaryOf = ({ points }: MetricSeries): { last: number | null; max: number | null } => {
  const known = points.filter((point) => point !== null);
  return { last: points.at(-1) ?? null, max: known.length === 0 ? null : Math.max(...known) };
};

const isActive = ({ points }: MetricSeries): boolean => points.some((point) => point !== null && point !== 0);

/** Prints one row for each series. Omits the status classes without requests. */
const printCharts = async (io: Io, { series, since, step }: Metrics): Promise<void> => {
  const shown = series.filter((one) => !one.metric.startsWith("requests_") || isActive(one));
  const rows = shown.map((one) => {
    const { last, max } = summaryOf(one);
    const chart = canDraw(io, io.stdout) ? [paint(io, "cyan", sparkline(one.points, CHART_WIDTH))] : [];
    return [one.metric, one.unit, format(last, one.unit), format(max, one.unit), ...chart];
  });
  await printTable(io, ["METRIC", "UNIT", "LAST", "MAX", ""], rows);
  say(io, `Since ${since}, in steps of ${step} s`);
};

/** Prints one line for each series and step: the time, the metric, the value and the unit. */
const printPoints = (io: Io, { series, since, step }: Metrics): void => {
  const from = parseInstant(since) as Instant;
  for (const { metric, unit, points } of series)
    points.forEach((point, index) => {
      print(
        io,
        [timestampOf(plusMillis(from, index * step * 1000)), metric, point === null ? "-" : String(point), unit].join(
          "\t",
        ),
      );
    });
};

export const command: Command = {
  usage: "metrics NAME [-s 1h] [--step SECONDS] [--json]",
  options: {
    ...clientOptions,
    since: option("TIME", "Show metrics since TIME: an age (default: 1h), a date or a date-time", { short: "s" }),
    step: option("SECONDS", "Set the length of a step: a multiple of 60 (default: chosen from the period)"),
  },
  positionals: { min: 1, max: 1 },
  examples: ["metrics hello", "metrics hello -s 7d --step 3600 --json"],
  notes: ["In a pipe, each line has a time, a metric, its value and its unit, separated by tabs. `-` means no data."],
  run: async (input, io) => {
    const [name = ""] = input.positionals;
    const step = input.text("step");
    const request = {
      names: normalizeDeploymentName(name),
      since: readSince(input.text("since"), Date.now()),
      // The platform validates the value.
      step: step as number | undefined,
    };
    const metrics = await clientFor(input, io).getMetrics(request, { signal: io.signal });
    if (input.flag("json")) printJson(io, metrics);
    else if (io.stdout.isTTY === true) await printCharts(io, metrics);
    else printPoints(io, metrics);
    return 0;
  },
};
