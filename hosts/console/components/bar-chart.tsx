/** A chart of stacked columns. Its text alternative is a label; a table or a control near it has the values. */
import type { ChartColumn } from "./chart-column.ts";

const [STEP, WIDTH, HEIGHT] = [10, 8, 100];
/** The minimum height of a part, which keeps small values visible. */
const MIN_HEIGHT = 1.5;

const heightOf = (share: number): number => (share > 0 ? Math.max(share * HEIGHT, MIN_HEIGHT) : 0);

const Column = ({ column, at }: { readonly column: ChartColumn; readonly at: number }) => {
  let top = HEIGHT;
  return (
    <g class={column.incomplete === true ? "incomplete" : undefined}>
      <title>{column.title}</title>
      {/* The whole column shows the tooltip. */}
      <rect class="column" x={at * STEP} y={0} width={STEP} height={HEIGHT} />
      {column.parts.map(({ tone, share }) => {
        const height = heightOf(share);
        top = Math.max(0, top - height);
        return <rect key={tone} class={tone} x={at * STEP + 1} y={top} width={WIDTH} height={height} />;
      })}
    </g>
  );
};

export const BarChart = ({ columns, label }: { readonly columns: readonly ChartColumn[]; readonly label: string }) => (
  <svg
    class="bars"
    viewBox={`0 0 ${Math.max(1, columns.length) * STEP} ${HEIGHT}`}
    preserveAspectRatio="none"
    role="img"
    aria-label={label}
  >
    {columns.map((column, at) => (
      <Column key={column.key} column={column} at={at} />
    ))}
  </svg>
);
