/** A small line chart without axes. */
import { sparklinePath } from "./sparkline-path.ts";

const [WIDTH, HEIGHT] = [96, 22];

interface SparklineProps {
  readonly points: readonly (number | null)[];
  /** What the line shows, for screen readers. */
  readonly label: string;
  readonly tone?: "bad";
}

export const Sparkline = ({ points, label, tone }: SparklineProps) => {
  const max = Math.max(1, ...points.map((value) => value ?? 0));
  return (
    <svg class={`sparkline ${tone ?? ""}`} viewBox={`0 -1 ${WIDTH} ${HEIGHT + 2}`} role="img" aria-label={label}>
      <path d={sparklinePath(points, { width: WIDTH, height: HEIGHT, max })} />
    </svg>
  );
};
