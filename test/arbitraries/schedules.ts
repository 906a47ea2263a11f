/**
 * Cron expressions in every valid form, with the values that each field means. Tests compare a parser with these values
 * and not with another parser.
 */
import fc from "fast-check";
import type { Schedule } from "../../core/domain/schedules/schedule.ts";

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly words: readonly string[];
}

const fields: readonly Bounds[] = [
  { min: 0, max: 59, words: [] },
  { min: 0, max: 23, words: [] },
  { min: 1, max: 31, words: [] },
  { min: 1, max: 12, words: months },
  { min: 0, max: 7, words: weekdays },
];

interface Part {
  readonly text: string;
  readonly values: readonly number[];
}

const span = (low: number, high: number, step = 1): number[] =>
  Array.from({ length: Math.floor((high - low) / step) + 1 }, (_, index) => low + index * step);

/** A value in any spelling: the number, the number with a leading zero, or the name in any case. */
const spelled = (value: number, { min, words }: Bounds): fc.Arbitrary<string> => {
  const word = words[value - min];
  const numbers = fc.constantFrom(String(value), String(value).padStart(2, "0"));
  return word === undefined ? numbers : fc.oneof(numbers, fc.mixedCase(fc.constant(word)));
};

const rangeOf = (bounds: Bounds): fc.Arbitrary<{ text: string; low: number; high: number }> =>
  fc
    .tuple(fc.integer({ min: bounds.min, max: bounds.max }), fc.integer({ min: bounds.min, max: bounds.max }))
    .map(([a, b]) => [Math.min(a, b), Math.max(a, b)] as const)
    .chain(([low, high]) =>
      fc.tuple(spelled(low, bounds), spelled(high, bounds)).map(([from, to]) => ({ text: `${from}-${to}`, low, high })),
    );

const partOf = (bounds: Bounds): fc.Arbitrary<Part> => {
  const { min, max } = bounds;
  const step = fc.integer({ min: 1, max });
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant({ text: "*", values: span(min, max) }) },
    {
      weight: 3,
      arbitrary: fc
        .integer({ min, max })
        .chain((value) => spelled(value, bounds).map((text) => ({ text, values: [value] }))),
    },
    rangeOf(bounds).map(({ text, low, high }) => ({ text, values: span(low, high) })),
    step.map((by) => ({ text: `*/${by}`, values: span(min, max, by) })),
    fc
      .tuple(rangeOf(bounds), step)
      .map(([{ text, low, high }, by]) => ({ text: `${text}/${by}`, values: span(low, high, by) })),
  );
};

const fieldOf = (bounds: Bounds): fc.Arbitrary<Part> =>
  fc.array(partOf(bounds), { minLength: 1, maxLength: 3 }).map((parts) => ({
    text: parts.map((part) => part.text).join(","),
    values: [...new Set(parts.flatMap((part) => part.values))].sort((a, b) => a - b),
  }));

/** An expression and the values that its fields mean. Sunday is 0 or 7, as in the text. */
export interface CronCase {
  readonly text: string;
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly days: readonly number[];
  readonly months: readonly number[];
  readonly weekdays: readonly number[];
  /** False if the date never occurs: `0 0 30 2 *`. */
  readonly occurs: boolean;
}

const longest = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

const exactly = (value: number): Part => ({ text: String(value), values: [value] });

/** The 29th, 30th and 31st of the shorter months, on any weekday. Several of these dates never occur. */
const lateDate = (): fc.Arbitrary<readonly Part[]> =>
  fc
    .tuple(fc.constantFrom(29, 30, 31), fc.constantFrom(2, 4, 6, 9, 11))
    .map(([day, month]) => [exactly(day), exactly(month), { text: "*", values: span(0, 7) }]);

/** Well-formed expressions, including dates that never occur. */
export const cronCase = (): fc.Arbitrary<CronCase> =>
  fc.tuple(fc.tuple(...fields.map(fieldOf)), fc.option(lateDate(), { nil: [], freq: 5 })).map(([any, late]) => {
    const parts = late.length === 0 ? any : [...any.slice(0, 2), ...late];
    const values = (index: number): readonly number[] => parts[index]?.values ?? [];
    const dated = values(3).some((month) => values(2).some((day) => day <= (longest[month - 1] ?? 0)));
    return {
      text: parts.map((part) => part.text).join(" "),
      minutes: values(0),
      hours: values(1),
      days: values(2),
      months: values(3),
      weekdays: values(4),
      occurs: dated || parts[4]?.text.startsWith("*") === false,
    };
  });

/** An expression that must be accepted. */
export const cronExpression = (): fc.Arbitrary<string> =>
  cronCase()
    .filter(({ occurs }) => occurs)
    .map(({ text }) => text);

/** Time zones that every runtime with time zone data supports, including fractional offsets and renamed zones. */
export const timezone = (): fc.Arbitrary<string> =>
  fc.constantFrom(
    "UTC",
    "Europe/Paris",
    "America/New_York",
    "Asia/Kolkata",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "America/Argentina/Buenos_Aires",
    "Pacific/Chatham",
    "Etc/GMT+5",
  );

/** A schedule that must be accepted. */
export const schedule = (): fc.Arbitrary<Schedule> =>
  fc.record({ cron: cronExpression(), timezone: timezone() }, { noNullPrototype: true });
