/** The charts of a deployment's metrics. Loads the chart library on first use. */
import { CopyCommands } from "../components/copy.tsx";
import { formatBytes, formatCount } from "../components/format.ts";
import { usePlot } from "../components/plot/use-plot.ts";
import { Loaded, useResource } from "../components/resource.tsx";
import { cliOf } from "../components/shell-words.ts";
import { showsUtc } from "../components/time.tsx";
import { location, replaceQuery } from "../shell/router.ts";
import { client } from "../shell/session.ts";
import { type ChartGroup, chartGroups, linesOf, ranges } from "./chart-groups.ts";

type Metrics = Awaited<ReturnType<typeof client.getMetrics>>;

const REFRESH_MS = 30_000;
const DEFAULT_RANGE = "1h";

const formatters: Readonly<Record<ChartGroup["unit"], (value: number) => string>> = {
  count: formatCount,
  ms: (value) => `${formatCount(value)} ms`,
  bytes: formatBytes,
  cpu: (value) => `${Number(value.toFixed(2))}`,
};

const loadChart = async () => (await import("./draw-chart.ts")).drawChart;

interface ChartProps {
  readonly group: ChartGroup;
  readonly metrics: Metrics;
}

const latestOf = (points: readonly (number | null)[]): number | undefined =>
  points.findLast((value) => value !== null) ?? undefined;

const Chart = ({ group, metrics }: ChartProps) => {
  const lines = linesOf(group, metrics.series);
  const format = formatters[group.unit];
  const utc = showsUtc.value;
  const box = usePlot(
    loadChart,
    () =>
      lines.length === 0
        ? undefined
        : {
            since: Date.parse(metrics.since),
            step: metrics.step,
            lines,
            format,
            binary: group.unit === "bytes",
            utc,
          },
    [metrics, utc],
  );
  if (lines.length === 0) return null;
  const summary = lines
    .map(({ label, points }) => {
      const latest = latestOf(points);
      return `${label}: ${latest === undefined ? "no data" : format(latest)}`;
    })
    .join(", ");
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{group.title}</span>
        <span class="legend">
          {lines.map(({ label, points }, at) => {
            const latest = latestOf(points);
            return (
              <span key={label}>
                <span class={`key line-${at}`} aria-hidden="true" />
                {lines.length > 1 && `${label} `}
                {latest === undefined ? "–" : format(latest)}
              </span>
            );
          })}
        </span>
      </figcaption>
      <div ref={box} class="plot" role="img" aria-label={`${group.title}, latest values: ${summary}`} />
    </figure>
  );
};

export const Charts = ({ name }: { readonly name: string }) => {
  const range = location.value.query["range"] ?? DEFAULT_RANGE;
  const length = ranges[range] ?? (ranges[DEFAULT_RANGE] as number);
  const metrics = useResource(
    `metrics ${name} ${range}`,
    (signal) => client.getMetrics({ names: name, since: new Date(Date.now() - length).toISOString() }, { signal }),
    REFRESH_MS,
  );
  return (
    <section aria-labelledby="charts-title">
      <div class="title">
        <h2 id="charts-title">Metrics</h2>
        <fieldset class="segmented">
          <legend class="hidden">Range</legend>
          {Object.keys(ranges).map((one) => (
            <button
              key={one}
              type="button"
              aria-pressed={one === range}
              onClick={() => replaceQuery({ range: one === DEFAULT_RANGE ? undefined : one })}
            >
              {one}
            </button>
          ))}
        </fieldset>
        <CopyCommands
          request={{ method: "GET", path: "/v1/metrics", query: { names: name } }}
          cli={cliOf("metrics", name)}
        />
      </div>
      <Loaded resource={metrics} waiting="Loading the metrics…">
        {(loaded) =>
          loaded.series.length === 0 ? (
            <p class="dim">The platform has no metrics for this deployment.</p>
          ) : (
            <div class="charts">
              {chartGroups.map((group) => (
                <Chart key={group.title} group={group} metrics={loaded} />
              ))}
            </div>
          )
        }
      </Loaded>
    </section>
  );
};
