/** Times, durations and numbers of the console. */
import { expect, test } from "vitest";
import {
  formatBytes,
  formatClock,
  formatCount,
  formatDuration,
  formatRelative,
  formatTime,
} from "../../../../hosts/console/components/format.ts";

test.each([
  [-5, "0 ms"],
  [949, "949 ms"],
  [1500, "1.5 s"],
  [59_400, "59 s"],
  [59_600, "59 s"],
  [65_000, "1 min 5 s"],
  [3_599_999, "59 min 59 s"],
  [3_660_000, "1 h 1 min"],
  [90_000_000, "1 d 1 h"],
])("formats %i ms as '%s'", (millis, text) => {
  expect(formatDuration(millis)).toBe(text);
});

test.each([
  [0, "now"],
  [-30_000, "30 s ago"],
  [-300_000, "5 min ago"],
  [-7_200_000, "2 h ago"],
  [-172_800_000, "2 d ago"],
  [7_200_000, "in 2 h"],
])("formats a time at %i ms from now as '%s'", (offset, text) => {
  expect(formatRelative(1_800_000_000_000 + offset, 1_800_000_000_000)).toBe(text);
});

test("formats times in UTC to the second and to the millisecond", () => {
  const millis = Date.UTC(2026, 0, 5, 3, 4, 5, 67);
  expect(formatTime(millis, true)).toBe("2026-01-05 03:04:05");
  expect(formatClock(millis, true)).toBe("03:04:05.067");
});

test("formats times in the local time zone", () => {
  const millis = Date.UTC(2026, 6, 5, 3, 4, 5);
  const date = new Date(millis);
  expect(formatTime(millis, false).slice(11, 13)).toBe(String(date.getHours()).padStart(2, "0"));
});

test.each([
  [0, "0 B"],
  [1023, "1023 B"],
  [1536, "1.5 KiB"],
  [200 * 1024 * 1024, "200 MiB"],
  [3 * 1024 ** 5, "3072 TiB"],
])("formats %i bytes as '%s'", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test.each([
  [0.125, "0.13"],
  [12.4, "12"],
  [999, "999"],
  [12_340, "12.3k"],
  [2_500_000, "2.5M"],
])("formats the count %d as '%s'", (count, text) => {
  expect(formatCount(count)).toBe(text);
});
