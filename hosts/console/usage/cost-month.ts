/** The months of the cost page, in UTC. */
import { monthOf, parseMonth } from "../../../core/domain/usage/month.ts";
import { type Instant, instantOfMillis, timestampOf } from "../../../core/domain/wire/instant.ts";

const LISTED = 12;

export interface CostMonth {
  /** `YYYY-MM`. */
  readonly month: string;
  /** The months of the menu, newest first. Contains `month`. */
  readonly listed: readonly string[];
  readonly previous: string;
  /** Undefined for the current month. */
  readonly next: string | undefined;
  readonly since: string;
  readonly until: string;
}

const before = (month: string): string => {
  const period = parseMonth(month);
  return period === undefined ? month : monthOf((period.from - 1n) as Instant);
};

/**
 * Returns a month with its neighbours. Uses the current month for an invalid or future month.
 * @param now milliseconds since 1970
 */
export const costMonthOf = (wanted: string, now: number): CostMonth => {
  const current = monthOf(instantOfMillis(now));
  const isPast = parseMonth(wanted) !== undefined && wanted < current;
  const month = isPast ? wanted : current;
  const { from, to } = parseMonth(month) as NonNullable<ReturnType<typeof parseMonth>>;
  const listed = [current];
  while (listed.length < LISTED) listed.push(before(listed.at(-1) as string));
  return {
    month,
    listed: listed.includes(month) ? listed : [...listed, month],
    previous: before(month),
    next: month === current ? undefined : monthOf(to),
    since: timestampOf(from),
    until: timestampOf(to),
  };
};

/** Returns a month in words, such as `November 2026`. */
export const formatMonth = (month: string): string =>
  new Intl.DateTimeFormat("en", { month: "long", year: "numeric", timeZone: "UTC" }).format(
    Date.parse(`${month}-01T00:00:00Z`),
  );
