/** Draws a chart of metrics. */

import { formatTime } from "../components/format.ts";
import { createPlot } from "../components/plot/create-plot.ts";

interface ChartData {
  /** The start of the first step, in milliseconds. */
  readonly since: number;
  /** Seconds. */
  readonly step: number;
  readonly lines: readonly { readonly label: string; readonly points: readonly (number | null)[] }[];
  readonly format: (value: number) => string;
  /** Spaces the ticks of the value axis by powers of two, for bytes. */
  readonly binary: boolean;
  /** Shows times in UTC. */
  readonly utc: boolean;
}

const HEIGHT = 132;
const AXIS_WIDTH = 58;
const POWERS = Array.from({ length: 45 }, (_, exponent) => 2 ** exponent);
const DAY_S = 86_400;

/** Draws a chart into an element. Returns a function that removes it. */
export const drawChart = (box: HTMLElement, { since, step, lines, format, binary, utc }: ChartData): (() => void) => {
  const points = lines[0]?.points ?? [];
  const length = step * points.length;
  // Time of day, or the day in a chart of more than two days.
  const formatAxisTime = (seconds: number): string => {
    const text = formatTime(seconds * 1000, utc);
    return length > 2 * DAY_S ? text.slice(5, 10) : text.slice(11, 16);
  };
  const times = points.map((_, at) => since / 1000 + at * step);
  return createPlot(
    box,
    HEIGHT,
    ({ colour, axis }) => ({
      scales: { y: { range: (_plot, _min, max) => [0, max > 0 ? max * 1.1 : 1] } },
      axes: [
        { ...axis, size: 28, space: 64, values: (_plot, values) => values.map(formatAxisTime) },
        {
          ...axis,
          ...(binary && { incrs: POWERS }),
          size: AXIS_WIDTH,
          space: 28,
          values: (_plot, values) => values.map((value) => format(value)),
        },
      ],
      series: [
        {},
        ...lines.map(({ label }, at) => ({
          label,
          stroke: colour(`--line-${at}`),
          width: 1.5,
          points: { size: 4 },
          spanGaps: false,
        })),
      ],
    }),
    [times, ...lines.map((line) => [...line.points])],
  );
};
