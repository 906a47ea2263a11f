/** The cron parser compared with how the expression was generated, and "never occurs" compared with a calendar. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { type CronFields, parseCron, readSchedule } from "../../../../core/domain/schedules/schedule.ts";
import { cronCase, nastyString, schedule } from "../../../arbitraries/index.ts";
import { runs } from "../../../support/vitest/runs.ts";

const sorted = (values: Iterable<number>): number[] => [...values].sort((a, b) => a - b);

test("an expression parses to the values it was generated from", () => {
  fc.assert(
    fc.property(
      cronCase().filter(({ occurs }) => occurs),
      (made) => {
        const read = parseCron(made.text) as CronFields;
        expect(read).toBeTypeOf("object");
        expect(sorted(read.minutes)).toEqual(made.minutes);
        expect(sorted(read.hours)).toEqual(made.hours);
        expect(sorted(read.days)).toEqual(made.days);
        expect(sorted(read.months)).toEqual(made.months);
        expect(sorted(read.weekdays)).toEqual(sorted(new Set(made.weekdays.map((day) => day % 7))));
      },
    ),
    runs(1000),
  );
});

/** 2000 to 2027 contains a 29 February on every weekday, so a date without a match in it never matches. */
const calendar = Array.from({ length: 28 * 365 + 7 }, (_, day) => new Date(Date.UTC(2000, 0, 1 + day)));

interface Dates {
  readonly text: string;
  readonly days: readonly number[];
  readonly months: readonly number[];
  readonly weekdays: readonly number[];
}

/** Matching days by Vixie cron's rule: either day field is enough, but both must match if one begins with a star. */
const everOccurs = ({ text, days, months, weekdays }: Dates): boolean => {
  const fields = text.split(" ");
  const both = fields[2]?.startsWith("*") === true || fields[4]?.startsWith("*") === true;
  return calendar.some((date) => {
    if (!months.includes(date.getUTCMonth() + 1)) return false;
    const byDay = days.includes(date.getUTCDate());
    const byWeekday = weekdays.some((weekday) => weekday % 7 === date.getUTCDay());
    return both ? byDay && byWeekday : byDay || byWeekday;
  });
};

const all = (min: number, max: number) => Array.from({ length: max - min + 1 }, (_, index) => min + index);

/** Late days of short months: every other date exists. */
const lateInShortMonths: fc.Arbitrary<Dates> = fc
  .record({
    days: fc.constantFrom<[string, number[]]>(
      ["29", [29]],
      ["30", [30]],
      ["31", [31]],
      ["30-31", [30, 31]],
      ["29,31", [29, 31]],
      ["*/30", [1, 31]],
      ["31-31/2", [31]],
    ),
    months: fc.constantFrom<[string, number[]]>(["2", [2]], ["FEB,4", [2, 4]], ["4-6/2", [4, 6]], ["2-4", [2, 3, 4]]),
    weekdays: fc.constantFrom<[string, number[]]>(
      ["*", all(0, 7)],
      ["*/2", [0, 2, 4, 6]],
      ["*,1", all(0, 7)],
      ["0", [0]],
      ["1-5", all(1, 5)],
      ["7", [7]],
    ),
  })
  .map(({ days, months, weekdays }) => ({
    text: `0 0 ${days[0]} ${months[0]} ${weekdays[0]}`,
    days: days[1],
    months: months[1],
    weekdays: weekdays[1],
  }));

test("reports 'never occurs' if and only if no day of the calendar matches", () => {
  fc.assert(
    fc.property(fc.oneof(cronCase(), lateInShortMonths), (dates) => {
      const read = parseCron(dates.text);
      expect(typeof read === "string").toBe(!everOccurs(dates));
      if (typeof read === "string") expect(read).toContain("never occurs");
    }),
    runs(400),
  );
});

test("every notation of a schedule gives the same schedule", () => {
  fc.assert(
    fc.property(schedule(), fc.constantFrom(" ", "  ", "\t"), (value, space) => {
      const { cron, timezone } = value;
      const expected = { value, issues: [] };
      expect(readSchedule(cron.replaceAll(" ", space), timezone)).toEqual(expected);
      expect(readSchedule(value, undefined)).toEqual(expected);
      expect(readSchedule(JSON.stringify(value), timezone)).toEqual(expected);
      expect(readSchedule(readSchedule(value, "").value, "")).toEqual(expected);
    }),
    runs(500),
  );
});

test("accepts any input or rejects it with a reason", () => {
  const anything = fc.oneof(
    nastyString(),
    fc.jsonValue(),
    fc.dictionary(fc.constantFrom("cron", "timezone", "tz"), nastyString()),
  );
  fc.assert(
    fc.property(anything, anything, (raw, zone) => {
      const { value, issues } = readSchedule(raw, zone);
      expect(value === undefined).toBe(issues.length > 0);
      for (const { path } of issues) expect(["schedule", "timezone"]).toContain(path[0]);
    }),
    runs(500),
  );
});
