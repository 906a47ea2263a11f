/**
 * Instants: nanoseconds in code, RFC 3339 text on the wire.
 *
 * `Date` has a resolution of milliseconds, but log positions need nanoseconds. The text format:
 * https://www.rfc-editor.org/rfc/rfc3339
 */

declare const instantBrand: unique symbol;
/** Nanoseconds since 1970-01-01T00:00:00Z; years 0001 to 9999. */
export type Instant = bigint & { readonly [instantBrand]: true };

declare const timestampBrand: unique symbol;
/** RFC 3339 text in UTC, written with `+00:00` and 0, 3, 6 or 9 fraction digits. */
export type Timestamp = string & { readonly [timestampBrand]: true };

const NANOS = 1_000_000_000n;
const MILLI_NANOS = 1_000_000n;
const DAY_SECONDS = 86_400n;

/** Returns a remainder that is never negative, so that times before 1970 are also rounded down. */
const remainder = (value: bigint, size: bigint): bigint => ((value % size) + size) % size;

/** Converts milliseconds since 1970, as `Date` counts them. Keeps fractions to the microsecond. */
export const instantOfMillis = (millis: number): Instant => {
  const whole = Math.floor(millis);
  return (BigInt(whole) * MILLI_NANOS + BigInt(Math.round((millis - whole) * 1000)) * 1000n) as Instant;
};

/** Returns whole milliseconds since 1970, rounded down. */
export const millisOf = (instant: Instant): number => Number((instant - remainder(instant, MILLI_NANOS)) / MILLI_NANOS);

/** Converts whole seconds since 1970. Throws a RangeError for a fraction. */
export const instantOfSeconds = (seconds: number): Instant => (BigInt(seconds) * NANOS) as Instant;

/** Returns whole seconds since 1970, rounded down. */
export const secondsOf = (instant: Instant): number => Number((instant - remainder(instant, NANOS)) / NANOS);

export const plusMillis = (instant: Instant, millis: number): Instant =>
  (instant + BigInt(Math.round(millis)) * MILLI_NANOS) as Instant;

/** Returns a proleptic Gregorian date as days since 1970-01-01: http://howardhinnant.github.io/date_algorithms.html */
export const daysFromCivil = (year: number, month: number, day: number): number => {
  const y = month <= 2 ? year - 1 : year;
  const era = Math.floor(y / 400);
  const yearOfEra = y - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  return (
    era * 146_097 + yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear - 719_468
  );
};

/** Returns the proleptic Gregorian date of a number of days since 1970-01-01. */
export const civilFromDays = (days: number): { year: number; month: number; day: number } => {
  const z = days + 719_468;
  const era = Math.floor(z / 146_097);
  const dayOfEra = z - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shifted = Math.floor((5 * dayOfYear + 2) / 153);
  const month = shifted + (shifted < 10 ? 3 : -9);
  return {
    year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0),
    month,
    day: dayOfYear - Math.floor((153 * shifted + 2) / 5) + 1,
  };
};

export const daysInMonth = (year: number, month: number): number =>
  month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0)
    ? 29
    : ([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1] as number);

const pad = (value: number | bigint, width: number): string => String(value).padStart(width, "0");

/** Splits an instant into its whole seconds, as `YYYY-MM-DDTHH:MM:SS`, and the remaining nanoseconds. */
export const splitInstant = (instant: Instant): { seconds: string; nanos: bigint } => {
  const nanos = remainder(instant, NANOS);
  const total = (instant - nanos) / NANOS;
  const inDay = remainder(total, DAY_SECONDS);
  const { year, month, day } = civilFromDays(Number((total - inDay) / DAY_SECONDS));
  const clock = `${pad(inDay / 3600n, 2)}:${pad((inDay / 60n) % 60n, 2)}:${pad(inDay % 60n, 2)}`;
  return { seconds: `${pad(year, 4)}-${pad(month, 2)}-${pad(day, 2)}T${clock}`, nanos };
};

/** Formats an instant as `YYYY-MM-DDTHH:MM:SS.` and nine digits, without an offset. */
export const withNanoseconds = (instant: Instant): string => {
  const { seconds, nanos } = splitInstant(instant);
  return `${seconds}.${pad(nanos, 9)}`;
};

/** Formats an instant with the fewest fraction digits (0, 3, 6 or 9) that are exact. */
export const timestampOf = (instant: Instant): Timestamp => {
  const { seconds, nanos } = splitInstant(instant);
  const digits = pad(nanos, 9);
  const kept =
    nanos === 0n
      ? ""
      : nanos % MILLI_NANOS === 0n
        ? digits.slice(0, 3)
        : nanos % 1000n === 0n
          ? digits.slice(0, 6)
          : digits;
  return `${seconds}${kept && `.${kept}`}+00:00` as Timestamp;
};

/** 0001-01-01T00:00:00Z and 9999-12-31T23:59:59Z in seconds: the range of four-digit years. */
const FIRST_SECOND = -62_135_596_800;
export const LAST_SECOND = 253_402_300_799;

const SHAPE = /^(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)(?:\.(\d+))?([Zz]|[+-]\d\d:\d\d)$/;

/**
 * Parses an RFC 3339 date-time. The fraction may have any number of digits.
 * Returns undefined if the text is malformed, has no offset, or is outside the years 0001 to 9999 in UTC.
 */
export const parseDateTime = (text: string): { instant: Instant; fraction: string } | undefined => {
  const match = SHAPE.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const fraction = match[7] ?? "";
  const zone = match[8] as string;
  if (year < 1 || month < 1 || month > 12 || day < 1 || day > daysInMonth(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 60) return undefined;
  const [zoneHours = 0, zoneMinutes = 0] = zone.length === 1 ? [] : zone.slice(1).split(":").map(Number);
  if (zoneHours > 23 || zoneMinutes > 59) return undefined;
  const offset = (zoneHours * 3600 + zoneMinutes * 60) * (zone.startsWith("-") ? -1 : 1);
  const seconds = daysFromCivil(year, month, day) * 86_400 + hour * 3600 + minute * 60 + second - offset;
  if (seconds < FIRST_SECOND || seconds > LAST_SECOND) return undefined;
  const nanos = BigInt(fraction.slice(0, 9).padEnd(9, "0"));
  return { instant: (BigInt(seconds) * NANOS + nanos) as Instant, fraction };
};

/** Parses an RFC 3339 date-time to an instant. Returns undefined if `parseDateTime` does. */
export const parseInstant = (text: string): Instant | undefined => parseDateTime(text)?.instant;
