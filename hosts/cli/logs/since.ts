/** Parses the value of `-s` or `--until`: an age, a date, or a date-time, including a time copied from the output. */

import { durationOf } from "../../../core/domain/logs/filter/literals.ts";
import { parseInstant } from "../../../core/domain/wire/instant.ts";
import { UsageError } from "../terminal/io.ts";

const PIECE = /(\d{1,9}(?:\.\d{1,9})?)(w|d|h|ms|m|s)/g;

/** Returns the milliseconds of an age such as `30m`, `1h30m`, `1.5h` or `2w`; undefined for other texts. */
const millisOf = (text: string): number | undefined => {
  if (text === "" || text.replace(PIECE, "") !== "") return undefined;
  return [...text.matchAll(PIECE)].reduce((sum, [piece, count, unit]) => {
    const seconds = unit === "w" ? Number(count) * 7 * 86_400 : (durationOf(piece) ?? 0);
    return sum + seconds * 1000;
  }, 0);
};

/** Completes a date or a date-time to the form of RFC 3339. A date becomes its midnight in UTC. */
const wholeDateTime = (text: string): string =>
  /^\d{4}-\d\d-\d\d$/.test(text)
    ? `${text}T00:00:00Z`
    : text.replace(/^(\d{4}-\d\d-\d\d)[Tt ](\d\d:\d\d)(?=$|[Zz+-])/, "$1T$2:00").replace(" ", "T");

/**
 * Returns the time for a request. Throws `UsageError` if the text is not a time.
 * @param option the option, for messages
 */
export const readSince = (text: string | undefined, now: number, option = "-s"): string | undefined => {
  if (text === undefined) return undefined;
  const ago = millisOf(text);
  if (ago !== undefined) {
    if (ago > now) throw new UsageError(`${option} ${text} is before 1970. Pass a shorter duration.`);
    return new Date(now - ago).toISOString();
  }
  const whole = wholeDateTime(text);
  if (parseInstant(whole) !== undefined) return whole;
  if (parseInstant(`${whole}Z`) !== undefined)
    throw new UsageError(`${option} ${text} has no time zone. Add Z for UTC, or an offset such as +02:00.`);
  throw new UsageError(
    `${option} must be an age (30m, 1h30m, 7d), a date or a date-time (2026-01-31T09:00:00Z), not '${text}'.`,
  );
};
