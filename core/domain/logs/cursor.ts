/**
 * Places in a deployment's log, and how clients hold on to them.
 *
 * A cursor is an RFC 3339 date-time: nine digits of fraction are nanoseconds, those behind them the code of the entry
 * within its nanosecond. The nanoseconds are those before the entry's own, so that a cursor that somebody cuts short
 * lies before the entry, never behind others of its moment: it may repeat entries and loses none.
 */
import { type Instant, parseDateTime, parseInstant, timestampOf, withNanoseconds } from "../wire/instant.ts";

/** A place in the total order of a deployment's log: the nanosecond, then the entry's code within it. */
export interface LogPosition {
  readonly instant: Instant;
  /** Digits, in the order of texts; of fixed width where the store counts. */
  readonly code: string;
}

/** Sorts behind every digit. */
const BEHIND_ALL = ":";

const ORDINAL_DIGITS = 10;

/** The code of a store that counts the entries of a nanosecond. */
export const ordinalCode = (ordinal: number): string => String(ordinal).padStart(ORDINAL_DIGITS, "0");

/** The code of a store that names its entries: three digits a byte, so that codes sort as the names' bytes do. */
export const nameCode = (name: string): string =>
  [...new TextEncoder().encode(name)].map((byte) => String(byte).padStart(3, "0")).join("");

/** The place behind every entry of an instant, also of those that are still to come. */
export const behind = (instant: Instant): LogPosition => ({ instant, code: BEHIND_ALL });

/** The first instant that a date-time can be written for; no entry lies there, for its cursor could not be. */
const FIRST = parseInstant("0001-01-01T00:00:00Z") as Instant;

/** The place before every entry of an instant. */
export const before = (instant: Instant): LogPosition => behind(instant > FIRST ? ((instant - 1n) as Instant) : FIRST);

/** The place of an entry that comes now, behind the last one: in a store that counts, whatever its clock does. */
export const nextPosition = (last: LogPosition | undefined, now: Instant): LogPosition => {
  if (last === undefined || last.instant < now) return { instant: now, code: ordinalCode(0) };
  return { instant: last.instant, code: ordinalCode(Number(last.code) + 1) };
};

export const comparePositions = (a: LogPosition, b: LogPosition): number =>
  a.instant < b.instant || (a.instant === b.instant && a.code < b.code)
    ? -1
    : a.instant === b.instant && a.code === b.code
      ? 0
      : 1;

export const cursorOf = ({ instant, code }: LogPosition): string => {
  if (code === BEHIND_ALL) return timestampOf(instant);
  return `${withNanoseconds((instant - 1n) as Instant)}${code}+00:00`;
};

/** Reads a cursor, or any date-time with an offset, which is the place behind every entry of its instant. */
export const parseCursor = (text: string): LogPosition | undefined => {
  const read = parseDateTime(text);
  if (read === undefined) return undefined;
  const code = read.fraction.slice(9);
  return code === "" ? behind(read.instant) : { instant: (read.instant + 1n) as Instant, code };
};
