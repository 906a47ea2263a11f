/** The columns of a log's histogram, and the selection among them. */
import { expect, test } from "vitest";
import {
  type Bucket,
  countsOf,
  formatCounts,
  histogramColumns,
  moveSelection,
  selectedBuckets,
} from "../../../../hosts/console/logs/histogram-columns.ts";

const bucket = (minute: number, counts: Bucket["counts"]): Bucket => ({
  start: `2026-01-31T09:0${minute}:00+00:00`,
  end: `2026-01-31T09:0${minute + 1}:00+00:00`,
  counts,
});
const buckets = [bucket(0, { INFO: 2, CRITICAL: 1, ERROR: 1 }), bucket(1, {}), bucket(2, { WARNING: 1, DEFAULT: 1 })];

test("counts errors, warnings and all entries", () => {
  expect(countsOf(buckets)).toEqual({ errors: 2, warnings: 1, others: 3, total: 6 });
  expect(formatCounts(countsOf(buckets))).toBe("6 entries, 2 errors, 1 warning");
  expect(formatCounts(countsOf([bucket(0, { INFO: 1 })]))).toBe("1 entry");
});

test("columns are relative to the fullest bucket, with errors at the bottom", () => {
  const columns = histogramColumns(buckets, "2026-01-31T09:00:30+00:00", ({ start }) => start);
  expect(columns.map(({ parts }) => parts.map(({ share }) => share))).toEqual([
    [0.5, 0, 0.5],
    [0, 0, 0],
    [0, 0.25, 0.25],
  ]);
  expect(columns.map(({ incomplete }) => incomplete)).toEqual([true, false, false]);
});

test("the arrow keys move the selection within the chart, and Shift extends it", () => {
  const last = { anchor: 2, at: 2 };
  expect(moveSelection(last, "ArrowRight", false, 3)).toEqual(last);
  expect(moveSelection(last, "ArrowLeft", false, 3)).toEqual({ anchor: 1, at: 1 });
  expect(moveSelection(last, "Home", true, 3)).toEqual({ anchor: 2, at: 0 });
  expect(moveSelection(last, "x", false, 3)).toBeUndefined();
});

test("selects the same buckets in both directions", () => {
  expect(selectedBuckets(buckets, { anchor: 2, at: 1 })).toEqual(buckets.slice(1));
  expect(selectedBuckets(buckets, { anchor: 1, at: 2 })).toEqual(buckets.slice(1));
});
