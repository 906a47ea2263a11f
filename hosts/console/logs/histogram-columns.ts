/** The columns of a log's histogram. */
import type { ChartColumn } from "../components/chart-column.ts";
import { formatCounted } from "../components/format.ts";

export interface Bucket {
  readonly start: string;
  readonly end: string;
  readonly counts: Readonly<Partial<Record<string, number>>>;
}

export interface BucketCounts {
  readonly errors: number;
  readonly warnings: number;
  readonly others: number;
  readonly total: number;
}

const errorNames: ReadonlySet<string> = new Set(["ERROR", "CRITICAL", "ALERT", "EMERGENCY"]);

/** Adds up the counts of buckets by the severities that the chart distinguishes. */
export const countsOf = (buckets: readonly Bucket[]): BucketCounts => {
  let [errors, warnings, total] = [0, 0, 0];
  for (const { counts } of buckets)
    for (const [name, count = 0] of Object.entries(counts)) {
      total += count;
      if (errorNames.has(name)) errors += count;
      if (name === "WARNING") warnings += count;
    }
  return { errors, warnings, others: total - errors - warnings, total };
};

/** Returns the counts in words, such as `12 entries, 2 errors`. */
export const formatCounts = ({ errors, warnings, total }: BucketCounts): string =>
  [
    formatCounted(total, "entry", "entries"),
    ...(errors > 0 ? [formatCounted(errors, "error", "errors")] : []),
    ...(warnings > 0 ? [formatCounted(warnings, "warning", "warnings")] : []),
  ].join(", ");

/**
 * Returns a column for each bucket, with errors at the bottom.
 * @param completeSince earlier counts may be too low
 */
export const histogramColumns = (
  buckets: readonly Bucket[],
  completeSince: string,
  titleOf: (bucket: Bucket) => string,
): readonly ChartColumn[] => {
  const counts = buckets.map((bucket) => countsOf([bucket]));
  const max = Math.max(1, ...counts.map(({ total }) => total));
  return buckets.map((bucket, at) => {
    const { errors, warnings, others } = counts[at] as BucketCounts;
    return {
      key: bucket.start,
      title: titleOf(bucket),
      parts: [
        { tone: "line-3", share: errors / max },
        { tone: "line-1", share: warnings / max },
        { tone: "line-0", share: others / max },
      ],
      incomplete: Date.parse(bucket.start) < Date.parse(completeSince),
    };
  });
};

/** A selection of buckets: the one where it began, and the one where it ends. */
export interface BucketSelection {
  readonly anchor: number;
  readonly at: number;
}

/** Returns the selected buckets, oldest first. */
export const selectedBuckets = (buckets: readonly Bucket[], { anchor, at }: BucketSelection): readonly Bucket[] =>
  buckets.slice(Math.min(anchor, at), Math.max(anchor, at) + 1);

/** Returns the selection after a key, or undefined if the key does not move it. */
export const moveSelection = (
  selection: BucketSelection,
  key: string,
  extend: boolean,
  count: number,
): BucketSelection | undefined => {
  const moves: Readonly<Record<string, number>> = {
    ArrowLeft: selection.at - 1,
    ArrowRight: selection.at + 1,
    Home: 0,
    End: count - 1,
  };
  const wanted = moves[key];
  if (wanted === undefined) return undefined;
  const at = Math.min(Math.max(wanted, 0), count - 1);
  return { anchor: extend ? selection.anchor : at, at };
};
