/** The period of `portside cost`: since a time, or a month in UTC. */

import { monthOf, parseMonth } from "../../../core/domain/usage/month.ts";
import { type Instant, instantOfMillis, parseInstant } from "../../../core/domain/wire/instant.ts";
import { readSince } from "../logs/since.ts";
import { UsageError } from "../terminal/io.ts";

export interface CostPeriod {
  readonly from: Instant;
  /** The first instant after it; at most now. */
  readonly to: Instant;
  readonly words: string;
}

const USUAL = "30d";

/** @param month `""` for the current month */
export const readPeriod = (since: string | undefined, month: string | undefined, now: number): CostPeriod => {
  const present = instantOfMillis(now);
  if (month === undefined) {
    const text = since ?? USUAL;
    return { from: parseInstant(readSince(text, now) as string) as Instant, to: present, words: `since ${text}` };
  }
  if (since !== undefined) throw new UsageError("-s and -m are two ways to say the same; give one.");
  const name = month === "" ? monthOf(present) : month;
  const period = parseMonth(name);
  if (period === undefined)
    throw new UsageError(`-m takes a month such as 2026-01, or nothing for this one; not '${month}'.`);
  if (period.from > present) throw new UsageError(`${name} has not begun yet.`);
  const over = period.to < present;
  return { from: period.from, to: over ? period.to : present, words: `in ${name}` };
};
