/** Prometheus text as numbers by series: https://prometheus.io/docs/instrumenting/exposition_formats/ */

/** Every series except histogram buckets. */
export const figuresIn = (text: string): Readonly<Record<string, number>> =>
  Object.fromEntries(
    text
      .split("\n")
      .filter((line) => line !== "" && !line.startsWith("#") && !line.includes("_bucket{"))
      .map((line) => {
        const at = line.lastIndexOf(" ");
        return [line.slice(0, at), Number(line.slice(at + 1))];
      }),
  );
