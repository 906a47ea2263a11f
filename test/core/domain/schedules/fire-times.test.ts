/** Fires around real clock changes, each derived by hand and confirmed by croner. */
import { describe, expect, test } from "vitest";
import { nextFire, nextFires } from "../../../../core/domain/schedules/fire-times.ts";
import { type Instant, instantOfMillis, parseInstant, timestampOf } from "../../../../core/domain/wire/instant.ts";
import { cronerFires } from "../../../support/clocks/croner.ts";

interface Case {
  readonly is: string;
  readonly cron: string;
  readonly timezone: string;
  /** Minutes in UTC, here and in `fires`. */
  readonly after: string;
  readonly fires: readonly string[];
}

/** A fire in the notation of the table. */
const minute = (fire: Instant): string => timestampOf(fire).slice(0, 16);
const momentOf = (text: string): Instant => parseInstant(`${text}:00Z`) as Instant;

const cases: readonly Case[] = [
  {
    is: "a daily time in the gap (02:00 to 03:00) fires at the end of the gap",
    cron: "30 2 * * *",
    timezone: "Europe/Paris",
    after: "2026-03-28T12:00",
    fires: ["2026-03-29T01:00", "2026-03-30T00:30"],
  },
  {
    is: "several times a day: the time in the gap is skipped",
    cron: "0 2,14 * * *",
    timezone: "Europe/Paris",
    after: "2026-03-28T14:00",
    fires: ["2026-03-29T12:00", "2026-03-30T00:00"],
  },
  {
    is: "every half-hour continues through the gap",
    cron: "*/30 * * * *",
    timezone: "Europe/Paris",
    after: "2026-03-29T00:00",
    fires: ["2026-03-29T00:30", "2026-03-29T01:00", "2026-03-29T01:30"],
  },
  {
    is: "a repeated time fires at its first occurrence",
    cron: "30 2 * * *",
    timezone: "Europe/Paris",
    after: "2026-10-24T12:00",
    fires: ["2026-10-25T00:30", "2026-10-26T01:30"],
  },
  {
    is: "a repeated time does not fire at its second occurrence, even if the search starts between the two",
    cron: "30 2 * * *",
    timezone: "Europe/Paris",
    after: "2026-10-25T01:00",
    fires: ["2026-10-26T01:30"],
  },
  {
    is: "every half-hour fires in both of the repeated hours",
    cron: "*/30 * * * *",
    timezone: "Europe/Paris",
    after: "2026-10-24T23:45",
    fires: ["2026-10-25T00:00", "2026-10-25T00:30", "2026-10-25T01:00", "2026-10-25T01:30", "2026-10-25T02:00"],
  },
  {
    is: "a step in the minutes of one hour also fires in both, and then not until the next day",
    cron: "*/30 2 * * *",
    timezone: "Europe/Paris",
    after: "2026-10-25T00:30",
    fires: ["2026-10-25T01:00", "2026-10-25T01:30", "2026-10-26T01:00"],
  },
  {
    is: "once a year: a search that starts in the first of the repeated hours finds the second",
    cron: "0,30 2 25 10 *",
    timezone: "Europe/Paris",
    after: "2026-10-25T00:30",
    fires: ["2026-10-25T01:00", "2026-10-25T01:30", "2027-10-25T00:00"],
  },
  {
    is: "a gap of half an hour",
    cron: "15 2 * * *",
    timezone: "Australia/Lord_Howe",
    after: "2026-10-02T16:00",
    fires: ["2026-10-03T15:30", "2026-10-04T15:15"],
  },
  {
    is: "half an hour repeated",
    cron: "*/15 1 * * *",
    timezone: "Australia/Lord_Howe",
    after: "2026-04-04T14:15",
    fires: ["2026-04-04T14:30", "2026-04-04T14:45", "2026-04-04T15:00", "2026-04-04T15:15", "2026-04-05T14:30"],
  },
  {
    is: "half an hour repeated, a single time",
    cron: "45 1 * * *",
    timezone: "Australia/Lord_Howe",
    after: "2026-04-04T12:00",
    fires: ["2026-04-04T14:45", "2026-04-05T15:15"],
  },
  {
    is: "on a day that begins at 01:00, a fire at midnight is at 01:00",
    cron: "0 0 * * *",
    timezone: "America/Sao_Paulo",
    after: "2018-11-03T12:00",
    fires: ["2018-11-04T03:00", "2018-11-05T02:00"],
  },
  {
    is: "a day whose last hour is repeated",
    cron: "30 23 * * *",
    timezone: "America/Sao_Paulo",
    after: "2018-02-17T12:00",
    fires: ["2018-02-18T01:30", "2018-02-19T02:30"],
  },
  {
    is: "a skipped midnight, on a Friday",
    cron: "0 0 * * FRI",
    timezone: "Africa/Cairo",
    after: "2026-04-17T12:00",
    fires: ["2026-04-23T22:00", "2026-04-30T21:00"],
  },
  {
    is: "a skipped half past midnight",
    cron: "30 0 * * *",
    timezone: "Asia/Beirut",
    after: "2026-03-28T12:00",
    fires: ["2026-03-28T22:00", "2026-03-29T21:30"],
  },
  {
    is: "a gap that ends on the next date: the fire is skipped with the rest of the day",
    cron: "30 23 * * *",
    timezone: "America/Nuuk",
    after: "2026-03-27T12:00",
    fires: ["2026-03-28T01:30", "2026-03-30T00:30"],
  },
  {
    is: "a skipped date, 30 December 2011",
    cron: "0 12 * * *",
    timezone: "Pacific/Apia",
    after: "2011-12-29T10:00",
    fires: ["2011-12-29T22:00", "2011-12-30T22:00"],
  },
  {
    is: "a yearly fire on that date waits for the next year",
    cron: "0 12 30 12 *",
    timezone: "Pacific/Apia",
    after: "2011-01-01T00:00",
    fires: ["2012-12-29T22:00"],
  },
  {
    is: "every twelve hours across that date",
    cron: "0 */12 * * *",
    timezone: "Pacific/Apia",
    after: "2011-12-29T10:30",
    fires: ["2011-12-29T22:00", "2011-12-30T10:00", "2011-12-30T22:00"],
  },
  {
    is: "midnight comes twice: clocks go from 00:01 back to 23:01",
    cron: "0 0 * * *",
    timezone: "America/St_Johns",
    after: "2010-11-06T12:00",
    fires: ["2010-11-07T02:30", "2010-11-08T03:30"],
  },
  {
    is: "every half-hour across that change: 00:00 fires twice, with the repeated 23:30 in between",
    cron: "0,30 23,0 * * *",
    timezone: "America/St_Johns",
    after: "2010-11-07T02:00",
    fires: ["2010-11-07T02:30", "2010-11-07T03:00", "2010-11-07T03:30", "2010-11-07T04:00", "2010-11-08T02:30"],
  },
  {
    is: "a gap of two hours",
    cron: "15 1 * * *",
    timezone: "Antarctica/Troll",
    after: "2026-03-28T12:00",
    fires: ["2026-03-29T01:00", "2026-03-29T23:15"],
  },
  {
    is: "five and three quarter hours east",
    cron: "0 9 * * *",
    timezone: "Asia/Kathmandu",
    after: "2026-01-01T00:00",
    fires: ["2026-01-01T03:15", "2026-01-02T03:15"],
  },
  {
    is: "five and a half hours east, and strictly after",
    cron: "0 9 * * 1-5",
    timezone: "Asia/Kolkata",
    after: "2026-01-02T03:30",
    fires: ["2026-01-05T03:30"],
  },
  {
    is: "a leap day: 2100 has none",
    cron: "0 0 29 2 *",
    timezone: "UTC",
    after: "2095-01-01T00:00",
    fires: ["2096-02-29T00:00", "2104-02-29T00:00"],
  },
  {
    is: "a leap day on a Sunday comes once in forty years",
    cron: "0 0 29 2 */7",
    timezone: "UTC",
    after: "2088-03-01T00:00",
    fires: ["2128-02-29T00:00"],
  },
  {
    is: "both day fields are restricted: one match is enough",
    cron: "0 0 13 * 5",
    timezone: "UTC",
    after: "2026-02-01T00:00",
    fires: ["2026-02-06T00:00", "2026-02-13T00:00", "2026-02-20T00:00"],
  },
  {
    is: "a day field that begins with a star: both fields must match, as in Vixie cron",
    cron: "0 0 */2 * 5",
    timezone: "UTC",
    after: "2026-02-01T00:00",
    fires: ["2026-02-13T00:00", "2026-02-27T00:00", "2026-03-13T00:00"],
  },
  {
    is: "a weekday field that begins with a star: both fields must match",
    cron: "0 0 13 * */2",
    timezone: "UTC",
    after: "2026-02-01T00:00",
    fires: ["2026-06-13T00:00", "2026-08-13T00:00"],
  },
];

describe.each(cases)("$is: '$cron' in $timezone", ({ cron, timezone, after, fires }) => {
  test("Portside", () => {
    expect(nextFires({ cron, timezone }, momentOf(after), fires.length).map(minute)).toEqual(fires);
  });

  test("croner", () => {
    const theirs = cronerFires({ cron, timezone }, Date.parse(`${after}Z`), fires.length);
    expect(theirs.map((millis) => minute(instantOfMillis(millis)))).toEqual(fires);
  });
});

test("a fire is strictly after the given time, to the nanosecond", () => {
  const everyMinute = { cron: "* * * * *", timezone: "UTC" };
  const noon = momentOf("2026-01-01T12:00");
  expect(nextFire(everyMinute, (noon - 1n) as Instant)).toBe(noon);
  expect(nextFire(everyMinute, noon)).toBe(momentOf("2026-01-01T12:01"));
});

test("in a zone with local mean time, schedules fire at full minutes of that time", () => {
  const monrovia = { cron: "0 12 * * *", timezone: "Africa/Monrovia" };
  const fire = nextFire(monrovia, momentOf("1971-06-01T00:00")) as Instant;
  expect(timestampOf(fire)).toBe("1971-06-01T12:44:30+00:00");
});

test("a day that occurred twice: Alaska moved across the date line", () => {
  const from = momentOf("1867-10-17T00:00");
  const texts = (cron: string) => nextFires({ cron, timezone: "America/Juneau" }, from, 5).map(timestampOf);
  expect(texts("0,30 20 18 10 *")).toEqual([
    "1867-10-18T04:57:41+00:00",
    "1867-10-18T05:27:41+00:00",
    "1867-10-19T04:57:41+00:00",
    "1867-10-19T05:27:41+00:00",
    "1868-10-19T04:57:41+00:00",
  ]);
  expect(texts("0 20 18 10 *").slice(0, 2)).toEqual(["1867-10-18T04:57:41+00:00", "1868-10-19T04:57:41+00:00"]);
});

test("finds fires before 1970, and up to the year 9999", () => {
  const newYear = { cron: "0 0 1 1 *", timezone: "UTC" };
  expect(minute(nextFire(newYear, momentOf("0001-06-01T00:00")) as Instant)).toBe("0002-01-01T00:00");
  expect(nextFires(newYear, momentOf("9997-06-01T00:00"), 5).map(minute)).toEqual([
    "9998-01-01T00:00",
    "9999-01-01T00:00",
  ]);
  // The last evening of the year 9999 in Honolulu is in the year 10000 in UTC.
  const evening = { cron: "0 20 31 12 *", timezone: "Pacific/Honolulu" };
  expect(nextFire(evening, momentOf("9999-06-01T00:00"))).toBeUndefined();
  const twice = { cron: "0,30 20 31 12 *", timezone: "Pacific/Honolulu" };
  expect(nextFire(twice, momentOf("9999-06-01T00:00"))).toBeUndefined();
});

test("returns no fires for a count of zero", () => {
  expect(nextFires({ cron: "* * * * *", timezone: "UTC" }, momentOf("2026-01-01T00:00"), 0)).toEqual([]);
});

test("accepts a zone in any case, and more zones than the cache holds", () => {
  const [from, nine] = [momentOf("2026-01-01T00:00"), "0 9 * * *"];
  for (let spelling = 0; spelling < 600; spelling += 1) {
    const timezone = [..."europe/paris"]
      .map((letter, place) => ((spelling >> place) % 2 === 1 ? letter.toUpperCase() : letter))
      .join("");
    expect(minute(nextFire({ cron: nine, timezone }, from) as Instant)).toBe("2026-01-01T08:00");
  }
});

test("throws for a schedule that readSchedule rejects", () => {
  const from = momentOf("2026-01-01T00:00");
  expect(() => nextFire({ cron: "0 0 30 2 *", timezone: "UTC" }, from)).toThrow(RangeError);
  expect(() => nextFire({ cron: "0 0 * * *", timezone: "Mars/Olympus" }, from)).toThrow(RangeError);
});
