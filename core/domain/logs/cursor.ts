/**
 * Positions in a deployment's log, and the cursors that encode them for clients.
 *
 * A cursor is an RFC 3339 date-time. The first nine digits of its fraction are nanoseconds. The remaining digits are
 * the code of the entry within its nanosecond. A cursor contains the nanosecond before its entry. A client that
 * truncates the cursor to nanoseconds may therefore receive entries again, but does not miss any.
 */
import { type Instant, parseDateTime, parseInstant, timestampOf, withNanoseconds } from "../wire/instant.ts";

/** A position in the total order of a deployment's log: the nanosecond, then the entry's code within it. */
export interface LogPosition {
  readonly instant: Instant;
  /** Digits, compared as text. Fixed width if the store counts entries. */
  readonly code: string;
}

/** Sorts after every digit. */
const BEHIND_ALL = ":";

const ORDINAL_DIGITS = 10;

/** Returns an entry's code for stores that count the entries of a nanosecond. */
export const ordinalCode = (ordinal: number): string => String(ordinal).padStart(ORDINAL_DIGITS, "0");

/** Returns an entry's code for stores that name entries: three digits per byte, so that codes sort like names. */
export const nameCode = (name: string): string =>
  [...new TextEncoder().encode(name)].map((byte) => String(byte).padStart(3, "0")).join("");

/** Returns the position after all entries of an instant, including future ones. */
export const behind = (instant: Instant): LogPosition => ({ instant, code: BEHIND_ALL });

/**
 * The first instant of the date-time format. No entry may have this instant, because a cursor is a nanosecond earlier
 * than its entry.
 */
const FIRST = parseInstant("0001-01-01T00:00:00Z") as Instant;

/** Returns the position before all entries of an instant. */
export const before = (instant: Instant): LogPosition => behind(instant > FIRST ? ((instant - 1n) as Instant) : FIRST);

/** The position after all entries that a log can have. */
export const LAST: LogPosition = behind(parseInstant("9999-12-31T23:59:59.999999999Z") as Instant);

/**
 * Returns the position directly before an entry. This position is after all earlier entries, because no code is another
 * code followed by a 9. Ordinals have a fixed width, and the three digits of each byte of a name begin with 0, 1 or 2.
 */
export const justBefore = ({ instant, code }: LogPosition): LogPosition => {
  const [rest, last] = [code.slice(0, -1), Number(code.at(-1))];
  const shortened = last === 0 ? rest : `${rest}${last - 1}9`;
  return shortened === "" ? before(instant) : { instant, code: shortened };
};

/** Returns the position of a new entry in a store that counts entries: after `last`, even if the clock moves back. */
export const nextPosition = (last: LogPosition | undefined, now: Instant): LogPosition => {
  if (last === undefined || last.instant < now) return { instant: now, code: ordinalCode(0) };
  return { instant: last.instant, code: ordinalCode(Number(last.code) + 1) };
};

/** Compares positions, for `sort`. */
export const comparePositions = (a: LogPosition, b: LogPosition): number =>
  a.instant < b.instant || (a.instant === b.instant && a.code < b.code)
    ? -1
    : a.instant === b.instant && a.code === b.code
      ? 0
      : 1;

/** Returns the earlier of two positions. */
export const earlier = (a: LogPosition, b: LogPosition): LogPosition => (comparePositions(a, b) <= 0 ? a : b);

/** Returns the later of two positions. */
export const later = (a: LogPosition, b: LogPosition): LogPosition => (comparePositions(a, b) >= 0 ? a : b);

/** Formats a position as a cursor. */
export const cursorOf = ({ instant, code }: LogPosition): string => {
  if (code === BEHIND_ALL) return timestampOf(instant);
  return `${withNanoseconds((instant - 1n) as Instant)}${code}+00:00`;
};

/**
 * Parses a cursor. A date-time with at most nine fraction digits denotes the position after all entries of its instant.
 * Returns undefined if the text is malformed or has no offset.
 */
export const parseCursor = (text: string): LogPosition | undefined => {
  const read = parseDateTime(text);
  if (read === undefined) return undefined;
  const code = read.fraction.slice(9);
  return code === "" ? behind(read.instant) : { instant: (read.instant + 1n) as Instant, code };
};
