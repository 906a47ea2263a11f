/** The properties that all uPlot charts share: colours, fonts, and the size of the element. */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";

export interface PlotStyle {
  /** Returns the value of a CSS variable, such as `--line-0`. */
  readonly colour: (name: string) => string;
  /** The properties of an axis that do not depend on the chart. */
  readonly axis: uPlot.Axis;
}

type ChartOptions = Required<Pick<uPlot.Options, "scales" | "axes" | "series">>;

const MIN_WIDTH = 120;

/**
 * Draws a chart into an element, and resizes it with the element. Returns a function that removes it.
 * @param height in pixels
 */
export const createPlot = (
  box: HTMLElement,
  height: number,
  optionsOf: (style: PlotStyle) => ChartOptions,
  data: uPlot.AlignedData,
): (() => void) => {
  const style = getComputedStyle(box);
  const colour = (name: string): string => style.getPropertyValue(name).trim();
  const axis = {
    stroke: colour("--dim"),
    grid: { stroke: colour("--line"), width: 1 },
    ticks: { show: false },
    font: `11px ${style.fontFamily}`,
  };
  const size = () => ({ width: Math.max(box.clientWidth, MIN_WIDTH), height });
  const plot = new uPlot(
    {
      ...size(),
      cursor: { drag: { x: false, y: false }, y: false },
      legend: { show: false },
      ...optionsOf({ colour, axis }),
    },
    data,
    box,
  );
  const observer = new ResizeObserver(() => plot.setSize(size()));
  observer.observe(box);
  return () => {
    observer.disconnect();
    plot.destroy();
  };
};
