/** The period of `portside cost`: from a time until now, or a month in UTC. */

import { monthOf, parseMonth } from "../../../core/domain/usage/month.ts";
import { type Instant, instantOfMillis, millisOf, parseInstant } from "../../../core/domain/wire/instant.ts";
import { readSince, readTime } from "../logs/since.ts";
import { UsageError } from "../terminal/io.ts";

export interface CostPeriod {
  readonly from: Instant;
  /** The exclusive end, at most now. */
  readonly to: Instant;
  /** Describes the period in the output. */
  readonly label: string;
}

const DEFAULT_SINCE = "30d";

/** Returns the period of `-s` and `--until`. The default of `-s` is an age before `--until`. */
const readRange = (since: string | undefined, until: string | undefined, now: number): CostPeriod => {
  const present = instantOfMillis(now);
  const end = parseInstant(readTime("--until", until, now) ?? "") ?? present;
  const isPast = end < present;
  const to = isPast ? end : present;
  const text = since ?? DEFAULT_SINCE;
  const from = parseInstant(readSince(text, since === undefined ? millisOf(to) : now) as string) as Instant;
  if (from >= to) throw new UsageError("-s must be a time before --until and before now.");
  const label = since === undefined && until !== undefined ? "" : `since ${text}`;
  return { from, to, label: [label, until === undefined ? "" : `until ${until}`].filter(Boolean).join(" ") };
};

/** @param month `""` for the current month */
export const readPeriod = (
  since: string | undefined,
  until: string | undefined,
  month: string | undefined,
  now: number,
): CostPeriod => {
  const present = instantOfMillis(now);
  if (month === undefined) return readRange(since, until, now);
  if (since !== undefined) throw new UsageError("Pass either -s or -m, not both.");
  if (until !== undefined) throw new UsageError("Pass either --until or -m, not both.");
  const name = month === "" ? monthOf(present) : month;
  const period = parseMonth(name);
  if (period === undefined)
    throw new UsageError(`-m must be a month such as 2026-01, or empty for the current one, not '${month}'.`);
  if (period.from > present)
    throw new UsageError(`-m ${name} is in the future. Pass the current month or an earlier one.`);
  const isOver = period.to < present;
  return { from: period.from, to: isOver ? period.to : present, label: `in ${name}` };
};
