/** Draws two columns of a result. */
import uPlot from "uplot";
import { formatCount, formatTime } from "../components/format.ts";
import { createPlot } from "../components/plot/create-plot.ts";
import type { Points } from "./result.ts";

const HEIGHT = 240;
const LABEL_LENGTH = 14;
const MAX_DOTS = 200;

interface ResultData extends Points {
  readonly isTime: boolean;
  readonly utc: boolean;
}

const shorten = (text: string): string => (text.length > LABEL_LENGTH ? `${text.slice(0, LABEL_LENGTH - 1)}…` : text);

/** Draws the points into an element. Returns a function that removes the chart. */
export const drawResult = (box: HTMLElement, { xs, ys, labels, isTime, utc }: ResultData): (() => void) => {
  const formatX = (value: number): string => {
    if (isTime) return formatTime(value * 1000, utc).slice(5, 16);
    return labels === undefined ? formatCount(value) : shorten(labels[value] ?? "");
  };
  return createPlot(
    box,
    HEIGHT,
    ({ colour, axis }) => ({
      scales: {
        x: { time: false, range: (_plot, min, max) => (min === max ? [min - 1, max + 1] : [min, max]) },
        y: { range: (_plot, min, max) => [Math.min(0, min), Math.max(0, max) || 1] },
      },
      axes: [
        {
          ...axis,
          size: 28,
          space: 96,
          ...(labels && { incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000] }),
          values: (_plot, values) => values.map(formatX),
        },
        { ...axis, size: 58, space: 28, values: (_plot, values) => values.map(formatCount) },
      ],
      series: [
        {},
        {
          stroke: colour("--line-0"),
          width: 1.5,
          points: { show: xs.length <= MAX_DOTS, size: 5 },
          // Names have no order, so draw bars instead of a line.
          ...(labels && uPlot.paths.bars && { paths: uPlot.paths.bars({ size: [0.7, 60] }), fill: colour("--line-0") }),
        },
      ],
    }),
    [[...xs], [...ys]],
  );
};
