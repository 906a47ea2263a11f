/** The number of a log's entries over time, by severity. A click, a drag or the keyboard zooms into a range. */
import { useSignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { ApiError } from "../../client/index.ts";
import { BarChart } from "../components/bar-chart.tsx";
import { formatTime } from "../components/format.ts";
import { Loaded, useResource } from "../components/resource.tsx";
import { showsUtc } from "../components/time.tsx";
import { replaceQuery } from "../shell/router.ts";
import { client } from "../shell/session.ts";
import {
  type Bucket,
  type BucketSelection,
  countsOf,
  formatCounts,
  histogramColumns,
  moveSelection,
  selectedBuckets,
} from "./histogram-columns.ts";
import type { LogRequest } from "./use-log.ts";

type Counts = Awaited<ReturnType<typeof client.getLogHistogram>>;

/** A refresh searches the whole range, so the chart refreshes less often than the lines. */
const REFRESH_MS = 30_000;
const NOT_OFFERED = 501;

/** The ranges of the menu, in hours. */
const ranges: readonly (readonly [hours: number, label: string])[] = [
  [1, "Last hour"],
  [24, "Last 24 hours"],
  [7 * 24, "Last 7 days"],
];

const rangeText = (buckets: readonly Bucket[]): string => {
  const [first, last] = [buckets[0], buckets.at(-1)];
  if (first === undefined || last === undefined) return "";
  const format = (time: string) => formatTime(Date.parse(time), showsUtc.value);
  return `${format(first.start)} to ${format(last.end)}`;
};

const textOf = (buckets: readonly Bucket[]): string => `${rangeText(buckets)}: ${formatCounts(countsOf(buckets))}`;

const zoom = (buckets: readonly Bucket[]): void =>
  replaceQuery({ since: buckets[0]?.start, until: buckets.at(-1)?.end });

const Chart = ({ buckets, complete_since: completeSince, partial }: Counts) => {
  const box = useRef<HTMLDivElement>(null);
  const selection = useSignal<BucketSelection | undefined>(undefined);
  const isDragging = useSignal(false);
  const current = selection.value ?? { anchor: buckets.length - 1, at: buckets.length - 1 };
  const selected = selectedBuckets(buckets, current);
  const indexAt = (event: PointerEvent): number => {
    const { left, width } = (box.current as HTMLDivElement).getBoundingClientRect();
    const at = Math.floor(((event.clientX - left) / Math.max(width, 1)) * buckets.length);
    return Math.min(Math.max(at, 0), buckets.length - 1);
  };
  const keyDown = (event: KeyboardEvent): void => {
    const moved = moveSelection(current, event.key, event.shiftKey, buckets.length);
    if (moved !== undefined) selection.value = moved;
    else if (event.key === "Enter") zoom(selected);
    else if (event.key === "Escape") selection.value = undefined;
    else return;
    event.preventDefault();
  };
  const share = (index: number): string => `${(index / buckets.length) * 100}%`;
  return (
    <>
      <div
        ref={box}
        class="histogram"
        role="slider"
        tabIndex={0}
        aria-label="Entries over time"
        aria-describedby="histogram-help"
        aria-valuemin={1}
        aria-valuemax={buckets.length}
        aria-valuenow={current.at + 1}
        aria-valuetext={textOf(selected)}
        onKeyDown={keyDown}
        onBlur={() => {
          selection.value = undefined;
        }}
        onPointerDown={(event) => {
          if (event.button !== 0) return;
          box.current?.setPointerCapture(event.pointerId);
          isDragging.value = true;
          const at = indexAt(event);
          selection.value = { anchor: at, at };
        }}
        onPointerMove={(event) => {
          if (isDragging.value) selection.value = { anchor: current.anchor, at: indexAt(event) };
        }}
        onPointerUp={() => {
          if (isDragging.value) zoom(selected);
          isDragging.value = false;
        }}
        onPointerCancel={() => {
          isDragging.value = false;
          selection.value = undefined;
        }}
      >
        <BarChart
          columns={histogramColumns(buckets, completeSince, (bucket) => textOf([bucket]))}
          label="Entries over time"
        />
        {selection.value !== undefined && (
          <div
            class="selection"
            style={{ left: share(Math.min(current.anchor, current.at)), width: share(selected.length) }}
          />
        )}
      </div>
      <p id="histogram-help" class="hidden">
        The arrow keys select a time. With Shift, they extend the selection. Enter shows the entries of the selection.
      </p>
      <p class="dim histogram-text">
        {textOf(selection.value === undefined ? buckets : selected)}
        {partial && ` · Counts before ${formatTime(Date.parse(completeSince), showsUtc.value)} may be too low.`}
      </p>
    </>
  );
};

const RangePicker = ({ hours }: { readonly hours: number }) => (
  <label>
    <span class="hidden">Range of the chart</span>
    <select value={hours} onChange={({ currentTarget }) => replaceQuery({ hours: currentTarget.value })}>
      {ranges.map(([value, label]) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  </label>
);

interface HistogramProps {
  readonly request: LogRequest;
  /** The length of the range if the request has no start. */
  readonly hours: number;
}

/** The chart with the control of its range. Shows nothing if the platform cannot count entries. */
export const Histogram = ({ request: { name, query, since, until }, hours: wanted }: HistogramProps) => {
  const hours = ranges.some(([value]) => value === wanted) ? wanted : 1;
  const counts = useResource(
    `histogram ${name} ${query} ${since} ${until} ${hours}`,
    (signal) => {
      const end = until === undefined ? Date.now() : Date.parse(until);
      const from = since ?? new Date(end - hours * 3_600_000).toISOString();
      return client.getLogHistogram({ deployment_name: name, query, since: from, until }, { signal });
    },
    until === undefined ? REFRESH_MS : undefined,
  );
  const { value: error } = counts.error;
  if (error instanceof ApiError && error.status === NOT_OFFERED) return null;
  return (
    <section class="log-counts" aria-label="Histogram">
      <div class="buttons">
        {since === undefined ? (
          <RangePicker hours={hours} />
        ) : (
          <button type="button" onClick={() => replaceQuery({ since: undefined, until: undefined })}>
            Show all times
          </button>
        )}
      </div>
      <Loaded resource={counts} waiting="Counting the entries…">
        {(loaded) => <Chart {...loaded} />}
      </Loaded>
    </section>
  );
};
