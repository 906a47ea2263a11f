/**
 * Computes a condition for Cloud Logging from a filter. Every entry that the filter matches satisfies the condition;
 * the adapter drops the other entries that Cloud Logging returns.
 */
import type { LogFilter } from "../../../core/domain/logs/filter/tree.ts";
import { all, any, type Bound, not } from "./bound.ts";
import { type Bounds, boundsOfLeaf, type Dialect } from "./leaf.ts";

const boundsOf = (filter: LogFilter, dialect: Dialect): Bounds => {
  switch (filter.kind) {
    case "and": {
      const terms = filter.terms.map((term) => boundsOf(term, dialect));
      return { atLeast: all(terms.map((term) => term.atLeast)), atMost: all(terms.map((term) => term.atMost)) };
    }
    case "or": {
      const terms = filter.terms.map((term) => boundsOf(term, dialect));
      return { atLeast: any(terms.map((term) => term.atLeast)), atMost: any(terms.map((term) => term.atMost)) };
    }
    case "not": {
      const { atLeast, atMost } = boundsOf(filter.term, dialect);
      return { atLeast: not(atMost), atMost: not(atLeast) };
    }
    default:
      return boundsOfLeaf(filter, dialect);
  }
};

/** Returns the condition, or false if no entry can match. */
export const pushdownOf = (filter: LogFilter, dialect: Dialect): Bound => boundsOf(filter, dialect).atLeast;
