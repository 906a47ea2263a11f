/**
 * Parses Prometheus text into a number for each series: https://prometheus.io/docs/instrumenting/exposition_formats/
 */

/** Returns every series except histogram buckets. */
export const seriesIn = (text: string): Readonly<Record<string, number>> =>
  Object.fromEntries(
    text
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#") && !line.includes("_bucket{"))
      .map((line) => {
        const at = line.lastIndexOf(" ");
        return [line.slice(0, at), Number(line.slice(at + 1))];
      }),
  );
