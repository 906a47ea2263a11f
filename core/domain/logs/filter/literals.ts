/** What the text of a literal means, by the type of the value that it is compared with. */
import { type Instant, parseInstant } from "../../wire/instant.ts";
import { severities } from "../entry.ts";

/** An RFC 3339 date-time; a date alone is its midnight, UTC. */
export const timeOf = (text: string): Instant | undefined =>
  parseInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);

/** The rank of a severity by its name, in any case, or by its number. */
export const severityRank = (text: string): number | undefined => {
  const name = text.toUpperCase();
  if (Object.hasOwn(severities, name)) return severities[name as keyof typeof severities];
  return /^\d{1,4}$/.test(text) ? Number(text) : undefined;
};

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;

const numberWords = new Map([
  ["nan", Number.NaN],
  ["infinity", Number.POSITIVE_INFINITY],
  ["+infinity", Number.POSITIVE_INFINITY],
  ["-infinity", Number.NEGATIVE_INFINITY],
]);

/** A number, with or without sign and exponent, or one of the words that the language has for special ones. */
export const numberOf = (text: string): number | undefined =>
  NUMBER.test(text) ? Number(text) : numberWords.get(text.toLowerCase());

export const truthOf = (text: string): boolean | undefined => {
  const word = text.toLowerCase();
  return word === "true" ? true : word === "false" ? false : undefined;
};

/** In nanoseconds. */
const units = new Map([
  ["d", 86_400_000_000_000n],
  ["h", 3_600_000_000_000n],
  ["m", 60_000_000_000n],
  ["s", 1_000_000_000n],
  ["ms", 1_000_000n],
  ["us", 1000n],
  ["ns", 1n],
]);

/** Digits before the point that anybody needs, and behind it as many as a nanosecond of a day has. */
const DURATION = /^([+-]?)(?=\.?\d)(\d{0,15})(?:\.(\d*))?(d|h|m|s|ms|us|ns)$/;
const FRACTION_DIGITS = 18;

/** The nanoseconds of a duration, such as `3.2s` or `200ms`. Whole ones: as fractions, 9 ms and 0.009 s would differ. */
export const nanosOf = (text: string): bigint | undefined => {
  const match = DURATION.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = "", fraction = "", unit = ""] = match;
  const digits = fraction.slice(0, FRACTION_DIGITS);
  const nanos = (BigInt(whole + digits) * (units.get(unit) as bigint)) / 10n ** BigInt(digits.length);
  return sign === "-" ? -nanos : nanos;
};

/** Seconds of a duration, for whoever needs no more than that. */
export const durationOf = (text: string): number | undefined => {
  const nanos = nanosOf(text);
  return nanos === undefined ? undefined : Number(nanos) / 1e9;
};
