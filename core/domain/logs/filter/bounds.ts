/** Time bounds that follow from a filter's conditions. */
import type { Instant } from "../../wire/instant.ts";
import { before, behind, comparePositions, type LogPosition } from "../cursor.ts";
import { timeOf } from "./literals.ts";
import { conjuncts, type LogFilter } from "./tree.ts";

const lowerOf = (filter: LogFilter): LogPosition | undefined => {
  if (filter.kind !== "compare" || filter.path[0] !== "timestamp" || filter.literal.text === null) return undefined;
  // The parser has rejected invalid times.
  const time = timeOf(filter.literal.text) as Instant;
  return filter.op === ">" ? behind(time) : filter.op === ">=" ? before(time) : undefined;
};

/**
 * Returns a position before all matches: the latest one that the filter's mandatory conditions on `timestamp` (`>` and
 * `>=`) imply. Returns undefined if the filter has no such condition.
 */
export const lowerBound = (filter: LogFilter): LogPosition | undefined =>
  conjuncts(filter)
    .flatMap((term) => lowerOf(term) ?? [])
    .reduce<LogPosition | undefined>(
      (latest, one) => (latest === undefined || comparePositions(latest, one) < 0 ? one : latest),
      undefined,
    );
