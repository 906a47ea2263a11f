/** Parses literals by the type of the compared value. All functions return undefined for invalid text. */
import { type Instant, parseInstant } from "../../wire/instant.ts";
import { severities } from "../entry.ts";

/** Parses an RFC 3339 date-time. A date without a time is midnight UTC. */
export const timeOf = (text: string): Instant | undefined =>
  parseInstant(/^\d{4}-\d\d-\d\d$/.test(text) ? `${text}T00:00:00Z` : text);

/** Returns the rank of a severity, given by name (in any letter case) or by number. */
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

/** Parses a number with an optional sign and exponent, or the language's words for NaN and infinity. */
export const numberOf = (text: string): number | undefined =>
  NUMBER.test(text) ? Number(text) : numberWords.get(text.toLowerCase());

export const truthOf = (text: string): boolean | undefined => {
  const word = text.toLowerCase();
  return word === "true" ? true : word === "false" ? false : undefined;
};

/** Duration units in nanoseconds. */
const units = new Map([
  ["d", 86_400_000_000_000n],
  ["h", 3_600_000_000_000n],
  ["m", 60_000_000_000n],
  ["s", 1_000_000_000n],
  ["ms", 1_000_000n],
  ["us", 1000n],
  ["ns", 1n],
]);

/** Allows at most 15 digits before the point. */
const DURATION = /^([+-]?)(?=\.?\d)(\d{0,15})(?:\.(\d*))?(d|h|m|s|ms|us|ns)$/;
/** Later digits are ignored, because even in days they are less than a nanosecond. */
const FRACTION_DIGITS = 18;

/** Parses a duration such as `3.2s` to nanoseconds. Uses integers, because 9 ms and 0.009 s differ as floats. */
export const nanosOf = (text: string): bigint | undefined => {
  const match = DURATION.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = "", fraction = "", unit = ""] = match;
  const digits = fraction.slice(0, FRACTION_DIGITS);
  const nanos = (BigInt(whole + digits) * (units.get(unit) as bigint)) / 10n ** BigInt(digits.length);
  return sign === "-" ? -nanos : nanos;
};

/** Parses a duration to seconds, as a float, for callers that do not need exact values. */
export const durationOf = (text: string): number | undefined => {
  const nanos = nanosOf(text);
  return nanos === undefined ? undefined : Number(nanos) / 1e9;
};
