/** The period of `portside cost`: a range that ends at `--until` or now, or a month in UTC. */

import { monthOf, parseMonth } from "../../../core/domain/usage/month.ts";
import { type Instant, instantOfMillis, millisOf, parseInstant } from "../../../core/domain/wire/instant.ts";
import { readSince } from "../logs/since.ts";
import { UsageError } from "../terminal/io.ts";

export interface CostPeriod {
  readonly from: Instant;
  /** The exclusive end, at most now. */
  readonly to: Instant;
  /** Describes the period in the output. */
  readonly label: string;
}

const DEFAULT_SINCE = "30d";

const isAge = (text: string): boolean => /^\d+[a-z]/i.test(text);

/** Describes the period of `-s` and `--until`, such as `in the last 30d`. */
const labelOf = (since: string | undefined, until: string | undefined): string => {
  if (until === undefined) {
    const text = since ?? DEFAULT_SINCE;
    return isAge(text) ? `in the last ${text}` : `since ${text}`;
  }
  const [from, to] = [since, until].map((text) => (text !== undefined && isAge(text) ? `${text} ago` : text));
  return from === undefined ? `in the ${DEFAULT_SINCE} before ${to}` : `from ${from} until ${to}`;
};

/** Returns the period of `-s` and `--until`. The default of `-s` is an age before `--until`. */
const readRange = (since: string | undefined, until: string | undefined, now: number): CostPeriod => {
  const currentInstant = instantOfMillis(now);
  const end = parseInstant(readSince(until, now, "--until") ?? "") ?? currentInstant;
  const isPast = end < currentInstant;
  const to = isPast ? end : currentInstant;
  const text = since ?? DEFAULT_SINCE;
  const from = parseInstant(readSince(text, since === undefined ? millisOf(to) : now) as string) as Instant;
  if (from >= to) throw new UsageError("-s must be a time before --until and before now.");
  return { from, to, label: labelOf(since, until) };
};

/** @param month `""` for the current month */
export const readPeriod = (
  since: string | undefined,
  until: string | undefined,
  month: string | undefined,
  now: number,
): CostPeriod => {
  const currentInstant = instantOfMillis(now);
  if (month === undefined) return readRange(since, until, now);
  if (since !== undefined) throw new UsageError("Pass either -s or -m, not both.");
  if (until !== undefined) throw new UsageError("Pass either --until or -m, not both.");
  const name = month === "" ? monthOf(currentInstant) : month;
  const period = parseMonth(name);
  if (period === undefined)
    throw new UsageError(`-m must be a month such as 2026-01, or empty for the current one, not '${month}'.`);
  if (period.from > currentInstant)
    throw new UsageError(`-m ${name} is in the future. Pass the current month or an earlier one.`);
  const isOver = period.to < currentInstant;
  return { from: period.from, to: isOver ? period.to : currentInstant, label: `in ${name}` };
};
