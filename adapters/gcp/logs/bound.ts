/** A condition for Cloud Logging, or a constant: true matches every entry, and false matches no entry. */
import { joined, type LogFilter } from "../../../core/domain/logs/filter/tree.ts";

export type Bound = LogFilter | boolean;

const filters = (bounds: readonly Bound[]): LogFilter[] => bounds.filter((bound) => typeof bound !== "boolean");

export const all = (bounds: readonly Bound[]): Bound => {
  if (bounds.includes(false)) return false;
  const left = filters(bounds);
  return left.length === 0 ? true : joined("and", left);
};

export const any = (bounds: readonly Bound[]): Bound => {
  if (bounds.includes(true)) return true;
  const left = filters(bounds);
  return left.length === 0 ? false : joined("or", left);
};

export const not = (bound: Bound): Bound => (typeof bound === "boolean" ? !bound : { kind: "not", term: bound });
