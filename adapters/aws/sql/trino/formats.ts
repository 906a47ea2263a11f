/**
 * Converts literal time formats and replacement texts. GoogleSQL uses the syntax of strftime and RE2
 * (https://cloud.google.com/bigquery/docs/reference/standard-sql/format-elements). Trino uses the syntax of MySQL and
 * Java (https://trino.io/docs/current/functions/datetime.html#mysql-date-functions).
 */
import { type Instant, parseDateTime } from "../../../../core/domain/wire/instant.ts";
import { UnsupportedSyntax } from "../../../shared/sql/googlesql/rewrite.ts";

const elements: Readonly<Record<string, string>> = {
  Y: "%Y",
  y: "%y",
  m: "%m",
  d: "%d",
  e: "%e",
  H: "%H",
  I: "%I",
  M: "%i",
  S: "%s",
  p: "%p",
  j: "%j",
  B: "%M",
  b: "%b",
  h: "%b",
  A: "%W",
  a: "%a",
  F: "%Y-%m-%d",
  T: "%H:%i:%s",
  R: "%H:%i",
  D: "%m/%d/%y",
  "%": "%%",
};

export const trinoFormat = (format: string): string =>
  format.replace(/%(E\d?S|.?)/gs, (_all, element: string) => {
    const trino = elements[element];
    if (trino === undefined) throw new UnsupportedSyntax(`the time format element %${element} is not supported here`);
    return trino;
  });

/** The first group is `\1` in RE2 and `$1` in Java. */
export const trinoReplacement = (text: string): string =>
  text.replace(/\\(\d)|\\\\|\$/g, (all, group: string | undefined) =>
    group === undefined ? (all === "$" ? "\\$" : "\\\\") : `$${group}`,
  );

const MICRO = 1000n;
const MICROS_PER_SECOND = 1_000_000n;

const textOf = (instant: Instant): string => {
  const micros = instant / MICRO;
  const seconds = micros / MICROS_PER_SECOND;
  const iso = new Date(Number(seconds) * 1000).toISOString();
  return `${iso.slice(0, 10)} ${iso.slice(11, 19)}.${String(micros % MICROS_PER_SECOND).padStart(6, "0")} UTC`;
};

/**
 * Formats a literal timestamp in a form that every version of Trino accepts. Returns undefined if the text is not a
 * date, with an optional time and time zone, or if it is before 1970.
 */
export const trinoTimestamp = (text: string): string | undefined => {
  const [, date, clock = "00:00:00", zone = "Z"] =
    /^(\d{4}-\d\d-\d\d)(?:[ Tt](\d\d:\d\d(?::\d\d(?:\.\d+)?)?))?\s*(Z|z|UTC|[+-]\d\d(?::?\d\d)?)?$/.exec(text.trim()) ??
    [];
  if (date === undefined) return undefined;
  const seconds = clock.length === 5 ? `${clock}:00` : clock;
  const offset = /^[+-]\d\d$/.test(zone)
    ? `${zone}:00`
    : /^[+-]\d{4}$/.test(zone)
      ? `${zone.slice(0, 3)}:${zone.slice(3)}`
      : zone === "UTC"
        ? "Z"
        : zone;
  const read = parseDateTime(`${date}T${seconds}${offset.toUpperCase()}`);
  return read === undefined || read.instant < 0n ? undefined : textOf(read.instant);
};
