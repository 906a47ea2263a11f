/** Instants by example: valid date-times and the output format. */
import { describe, expect, test } from "vitest";
import {
  type Instant,
  instantOfMillis,
  millisOf,
  parseDateTime,
  parseInstant,
  plusMillis,
  timestampOf,
} from "../../../../core/domain/wire/instant.ts";

const written = (text: string): string | undefined => {
  const instant = parseInstant(text);
  return instant === undefined ? undefined : timestampOf(instant);
};

describe("reading", () => {
  test.each([
    ["2026-01-31T09:00:00Z", "2026-01-31T09:00:00+00:00"],
    ["2026-01-31t09:00:00z", "2026-01-31T09:00:00+00:00"],
    ["2026-01-31 09:00:00+00:00", "2026-01-31T09:00:00+00:00"],
    ["2026-01-31T09:00:00-00:00", "2026-01-31T09:00:00+00:00"],
    ["2026-01-31T09:00:00+05:45", "2026-01-31T03:15:00+00:00"],
    ["2026-01-31T23:00:00-02:30", "2026-02-01T01:30:00+00:00"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00+00:00"],
    ["2000-02-29T00:00:00Z", "2000-02-29T00:00:00+00:00"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00+00:00"],
    ["9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999+00:00"],
    ["1969-12-31T23:59:59.999999999Z", "1969-12-31T23:59:59.999999999+00:00"],
    // A leap second is the first moment of the next minute, because Unix time does not count leap seconds.
    ["2016-12-31T23:59:60Z", "2017-01-01T00:00:00+00:00"],
  ])("%s is %s", (text, expected) => expect(written(text)).toBe(expected));

  test.each([
    ["no offset", "2026-01-31T09:00:00"],
    ["no time", "2026-01-31"],
    ["an offset without a colon", "2026-01-31T09:00:00+0000"],
    ["an offset of 24 hours", "2026-01-31T09:00:00+24:00"],
    ["an offset with 60 minutes", "2026-01-31T09:00:00+01:60"],
    ["month 0", "2026-00-31T09:00:00Z"],
    ["month 13", "2026-13-31T09:00:00Z"],
    ["day 0", "2026-01-00T09:00:00Z"],
    ["a day that the month does not have", "2026-04-31T09:00:00Z"],
    ["29 February of a common year", "2026-02-29T09:00:00Z"],
    ["29 February 1900", "1900-02-29T09:00:00Z"],
    ["hour 24", "2026-01-31T24:00:00Z"],
    ["minute 60", "2026-01-31T09:60:00Z"],
    ["second 61", "2026-01-31T09:00:61Z"],
    ["a point without digits", "2026-01-31T09:00:00.Z"],
    ["a comma", "2026-01-31T09:00:00,5Z"],
    ["year 0", "0000-01-01T00:00:00Z"],
    ["a year of five digits", "10000-01-01T00:00:00Z"],
    ["an instant before year 1 due to its offset", "0001-01-01T00:00:00+00:01"],
    ["an instant after year 9999 due to its offset", "9999-12-31T23:59:59-00:01"],
    ["a leading space", " 2026-01-31T09:00:00Z"],
    ["a trailing line feed", "2026-01-31T09:00:00Z\n"],
    ["a digit outside ASCII", "２026-01-31T09:00:00Z"],
  ])("rejects %s", (_why, text) => expect(parseInstant(text)).toBeUndefined());

  test("keeps digits beyond nanoseconds separate: they belong to a cursor", () => {
    const read = parseDateTime("2026-01-31T09:00:00.1234567890000000042Z");
    expect(read?.fraction).toBe("1234567890000000042");
    expect(read && timestampOf(read.instant)).toBe("2026-01-31T09:00:00.123456789+00:00");
  });
});

describe("writing", () => {
  test.each([
    [0n, "1970-01-01T00:00:00+00:00"],
    [1n, "1970-01-01T00:00:00.000000001+00:00"],
    [1000n, "1970-01-01T00:00:00.000001+00:00"],
    [1_000_000n, "1970-01-01T00:00:00.001+00:00"],
    [100_000_000n, "1970-01-01T00:00:00.100+00:00"],
    [-1n, "1969-12-31T23:59:59.999999999+00:00"],
  ])("%s ns has 0, 3, 6 or 9 fraction digits: %s", (nanos, text) => expect(timestampOf(nanos as Instant)).toBe(text));
});

describe("milliseconds", () => {
  test("a fraction is kept to the microsecond", () => {
    expect(instantOfMillis(1.5)).toBe(1_500_000n);
    expect(instantOfMillis(-1.5)).toBe(-1_500_000n);
    expect(instantOfMillis(1_767_225_600_000.123)).toBe(1_767_225_600_000_123_000n);
  });

  test("milliseconds round down, before 1970 too", () => {
    expect(millisOf(1_999_999n as Instant)).toBe(1);
    expect(millisOf(-1n as Instant)).toBe(-1);
  });

  test("adds positive and negative durations", () => {
    expect(plusMillis(0n as Instant, 1500)).toBe(1_500_000_000n);
    expect(plusMillis(0n as Instant, -1)).toBe(-1_000_000n);
  });
});
