/** The geometry of a sparkline. */

/**
 * Returns the SVG path of a series, one move per run of known points. A single point becomes a short line.
 * @param max the value at the top edge
 */
export const sparklinePath = (
  points: readonly (number | null)[],
  { width, height, max }: { readonly width: number; readonly height: number; readonly max: number },
): string => {
  const x = (at: number): number => (points.length < 2 ? 0 : (at / (points.length - 1)) * width);
  const y = (value: number): number => height - (max > 0 ? Math.min(value / max, 1) * height : 0);
  const round = (value: number): number => Math.round(value * 10) / 10;
  let path = "";
  let isDrawing = false;
  for (const [at, value] of points.entries()) {
    if (value !== null) {
      path += `${isDrawing ? "L" : "M"}${round(x(at))} ${round(y(value))}`;
      const isAlone = !isDrawing && (points[at + 1] ?? null) === null;
      if (isAlone) path += "h0.1";
    }
    isDrawing = value !== null;
  }
  return path;
};

/** Adds series point by point. A point is null if it is null in all of them. */
export const sumSeries = (series: readonly (readonly (number | null)[])[]): readonly (number | null)[] =>
  Array.from({ length: Math.max(0, ...series.map(({ length }) => length)) }, (_, at) =>
    series.reduce<number | null>((sum, points) => {
      const value = points[at] ?? null;
      return value === null ? sum : (sum ?? 0) + value;
    }, null),
  );

/** Returns the sum of the known points. */
export const totalOf = (points: readonly (number | null)[]): number =>
  points.reduce<number>((sum, value) => sum + (value ?? 0), 0);
