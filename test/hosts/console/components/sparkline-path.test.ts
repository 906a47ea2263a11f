/** The geometry of sparklines. */
import { expect, test } from "vitest";
import { sparklinePath, sumSeries, totalOf } from "../../../../hosts/console/components/sparkline-path.ts";

const box = { width: 100, height: 20, max: 10 };

test("scales points to the box, with the maximum at the top", () => {
  expect(sparklinePath([0, 5, 10], box)).toBe("M0 20L50 10L100 0");
});

test("breaks the line at gaps, and shows a point that is alone", () => {
  expect(sparklinePath([0, null, 10, null, 5], box)).toBe("M0 20h0.1M50 0h0.1M100 10h0.1");
});

test("stays in the box if a value exceeds the maximum or the maximum is zero", () => {
  expect(sparklinePath([20, 0], box)).toBe("M0 0L100 20");
  expect(sparklinePath([0, 0], { ...box, max: 0 })).toBe("M0 20L100 20");
});

test("returns an empty path without points", () => {
  expect(sparklinePath([], box)).toBe("");
});

test("adds series, and keeps a gap that all of them have", () => {
  expect(
    sumSeries([
      [1, null, null],
      [2, 3, null, 4],
    ]),
  ).toEqual([3, 3, null, 4]);
  expect(sumSeries([])).toEqual([]);
});

test("adds up the known points", () => {
  expect(totalOf([1, null, 2])).toBe(3);
});
