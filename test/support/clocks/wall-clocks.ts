/** The wall clock of a time zone, and its changes. Slow, but independent of core. */

const formatters = new Map<string, Intl.DateTimeFormat>();

const formatterOf = (zone: string): Intl.DateTimeFormat => {
  const fields = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric" } as const;
  const made =
    formatters.get(zone) ??
    new Intl.DateTimeFormat("en-US", { timeZone: zone, hourCycle: "h23", second: "numeric", ...fields });
  formatters.set(zone, made);
  return made;
};

/** A moment in milliseconds as wall clock time, encoded as if it were UTC. */
export const wallAt = (zone: string, millis: number): Date => {
  const { year, month, day, hour, minute, second } = Object.fromEntries(
    formatterOf(zone)
      .formatToParts(millis)
      .map(({ type, value }) => [type, Number(value)]),
  ) as Record<"year" | "month" | "day" | "hour" | "minute" | "second", number>;
  return new Date(Date.UTC(year, month - 1, day, hour, minute, second));
};

/** The offset from UTC in milliseconds, positive in the east. */
export const offsetOf = (zone: string, millis: number): number => wallAt(zone, millis).getTime() - millis;

const DAY = 86_400_000;

/**
 * Divides the time after `from` into periods of `days` days. Returns the starts of the periods in which the zone's
 * clocks change.
 */
const stretchesWithChange = (zone: string, from: number, stretches: number, days: number): number[] =>
  Array.from({ length: stretches }, (_, index) => from + index * days * DAY).filter(
    (start) => offsetOf(zone, start) !== offsetOf(zone, start + days * DAY),
  );

/** The UTC days of a year in which the zone's clocks change, as the milliseconds of their start. */
export const daysOfChange = (zone: string, year: number): number[] =>
  stretchesWithChange(zone, Date.UTC(year, 0, 1), 53, 7).flatMap((week) => stretchesWithChange(zone, week, 7, 1));
