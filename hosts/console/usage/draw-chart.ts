/** Draws a chart with uPlot. */
import uPlot from "uplot";
import { formatTime } from "../components/format.ts";
import "uplot/dist/uPlot.min.css";

interface ChartData {
  /** The start of the first step, in milliseconds. */
  readonly since: number;
  /** Seconds. */
  readonly step: number;
  readonly lines: readonly { readonly label: string; readonly points: readonly (number | null)[] }[];
  readonly format: (value: number) => string;
  /** Divides the axis of values at multiples of powers of two, for bytes. */
  readonly binary: boolean;
  /** Shows times in UTC. */
  readonly utc: boolean;
}

const HEIGHT = 132;
const AXIS_WIDTH = 58;
const POWERS = Array.from({ length: 45 }, (_, exponent) => 2 ** exponent);
const DAY_S = 86_400;

/** Draws a chart into an element, and resizes it with the element. Returns a function that removes it. */
export const drawChart = (box: HTMLElement, { since, step, lines, format, binary, utc }: ChartData): (() => void) => {
  const style = getComputedStyle(box);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const font = `11px ${style.fontFamily}`;
  const axis = { stroke: colour("--dim"), grid: { stroke: colour("--line"), width: 1 }, ticks: { show: false }, font };
  const length = step * (lines[0]?.points.length ?? 0);
  // Time of day, or the day in a chart of more than two days.
  const formatAxisTime = (seconds: number): string => {
    const text = formatTime(seconds * 1000, utc);
    return length > 2 * DAY_S ? text.slice(5, 10) : text.slice(11, 16);
  };
  const times = (lines[0]?.points ?? []).map((_, at) => since / 1000 + at * step);
  const plot = new uPlot(
    {
      width: Math.max(box.clientWidth, 120),
      height: HEIGHT,
      cursor: { drag: { x: false, y: false }, y: false },
      legend: { show: false },
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
    },
    [times, ...lines.map(({ points }) => [...points])],
    box,
  );
  const observer = new ResizeObserver(() => plot.setSize({ width: Math.max(box.clientWidth, 120), height: HEIGHT }));
  observer.observe(box);
  return () => {
    observer.disconnect();
    plot.destroy();
  };
};
