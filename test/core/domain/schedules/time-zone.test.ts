/** The offsets and the clock changes of time zones. */
import { expect, test } from "vitest";
import { clockChange, offsetAt } from "../../../../core/domain/schedules/time-zone.ts";

const second = (time: string): number => Date.parse(time) / 1000;
const HOUR = 3600;

test.each([
  ["UTC", "2026-01-01T00:00:00Z", 0],
  ["Europe/Paris", "2026-01-01T00:00:00Z", HOUR],
  ["Europe/Paris", "2026-07-01T00:00:00Z", 2 * HOUR],
  ["America/St_Johns", "2026-01-01T00:00:00Z", -3.5 * HOUR],
  ["Asia/Kathmandu", "2026-01-01T00:00:00Z", 5.75 * HOUR],
  ["Africa/Monrovia", "1960-01-01T00:00:00Z", -(44 * 60 + 30)],
])("%s at %s", (zone, time, offset) => expect(offsetAt(zone, second(time))).toBe(offset));

test("throws a RangeError for an unknown zone", () => {
  expect(() => offsetAt("Mars/Olympus", 0)).toThrow(RangeError);
});

test("finds a clock change to the second", () => {
  const change = second("2026-03-29T01:00:00Z");
  expect(clockChange("Europe/Paris", change - 40, change + 50)).toBe(change);
  expect(clockChange("Europe/Paris", change - 1, change)).toBe(change);
  expect(clockChange("Europe/Paris", change - 2, change - 1)).toBeUndefined();
  expect(clockChange("Europe/Paris", change, change + 50)).toBeUndefined();
});

test("accepts zone names in any case, any number of times", () => {
  const letters = [..."europe/paris"];
  for (let n = 0; n < 2000; n++) {
    const zone = letters.map((letter, index) => ((n >> index) & 1 ? letter.toUpperCase() : letter)).join("");
    expect(offsetAt(zone, 0)).toBe(HOUR);
  }
});
