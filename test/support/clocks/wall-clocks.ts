/** What the clocks of a zone show, read field by field, and when they are changed: slow, and by another way than core. */

const formatters = new Map<string, Intl.DateTimeFormat>();

const formatterOf = (zone: string): Intl.DateTimeFormat => {
  const fields = { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric" } as const;
  const made =
    formatters.get(zone) ??
    new Intl.DateTimeFormat("en-US", { timeZone: zone, hourCycle: "h23", second: "numeric", ...fields });
  formatters.set(zone, made);
  return made;
};

/** A moment in milliseconds as the zone's clocks show it, written as if that were UTC. */
export const wallAt = (zone: string, millis: number): Date => {
  const { year, month, day, hour, minute, second } = Object.fromEntries(
    formatterOf(zone)
      .formatToParts(millis)
      .map(({ type, value }) => [type, Number(value)]),
  ) as Record<"year" | "month" | "day" | "hour" | "minute" | "second", number>;
  return new Date(Date.UTC(year, month - 1, day, hour, minute, second));
};

/** Milliseconds east of UTC. */
export const offsetOf = (zone: string, millis: number): number => wallAt(zone, millis).getTime() - millis;

const DAY = 86_400_000;

/** The starts of the stretches, of so many days each from `from` on, within which the zone's clocks are changed. */
const stretchesWithChange = (zone: string, from: number, stretches: number, days: number): number[] =>
  Array.from({ length: stretches }, (_, index) => from + index * days * DAY).filter(
    (start) => offsetOf(zone, start) !== offsetOf(zone, start + days * DAY),
  );

/** The days of a year, UTC, in which the zone's clocks are changed: the milliseconds at which each begins. */
export const daysOfChange = (zone: string, year: number): number[] =>
  stretchesWithChange(zone, Date.UTC(year, 0, 1), 53, 7).flatMap((week) => stretchesWithChange(zone, week, 7, 1));
