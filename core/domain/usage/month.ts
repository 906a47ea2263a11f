/** Calendar months in UTC, as on bills. */
import { daysFromCivil, type Instant, instantOfSeconds, splitInstant } from "../wire/instant.ts";

export interface Period {
  readonly from: Instant;
  /** The first instant after the period. */
  readonly to: Instant;
}

const DAY_S = 86_400;

const monthStart = (year: number, month: number): Instant => instantOfSeconds(daysFromCivil(year, month, 1) * DAY_S);

/** Parses a month, `YYYY-MM`. Returns undefined if it is invalid. */
export const parseMonth = (text: string): Period | undefined => {
  const [, year = "", month = ""] = /^(\d{4})-(\d\d)$/.exec(text) ?? [];
  const [y, m] = [Number(year), Number(month)];
  if (y < 1 || y > 9998 || m < 1 || m > 12) return undefined;
  return { from: monthStart(y, m), to: m === 12 ? monthStart(y + 1, 1) : monthStart(y, m + 1) };
};

/** Returns the month of an instant, as `YYYY-MM`. */
export const monthOf = (instant: Instant): string => splitInstant(instant).seconds.slice(0, 7);

/** Returns the UTC day of an instant, as `YYYY-MM-DD`. */
export const dayOf = (instant: Instant): string => splitInstant(instant).seconds.slice(0, 10);

/** Returns the period of a UTC day, `YYYY-MM-DD`. */
export const periodOfDay = (day: string): Period => {
  const [year = 0, month = 0, date = 0] = day.split("-").map(Number);
  const start = daysFromCivil(year, month, date) * DAY_S;
  return { from: instantOfSeconds(start), to: instantOfSeconds(start + DAY_S) };
};
