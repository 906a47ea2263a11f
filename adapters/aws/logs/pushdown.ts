/**
 * Extracts the part of a filter that CloudWatch Logs can evaluate without losing matches: the time range and the
 * streams.
 *
 * The filter patterns of CloudWatch Logs are unsuitable. Their terms are case-sensitive; the core's are not. Their JSON
 * selectors match only scalars and do not search lists; the core's do. They do not compare numbers as text; the core
 * does. The platform's entries nest their fields one level deeper than a service's lines.
 * https://docs.aws.amazon.com/AmazonCloudWatch/latest/logs/FilterAndPatternSyntax.html
 */

import { timeOf } from "../../../core/domain/logs/filter/literals.ts";
import { matcherOf } from "../../../core/domain/logs/filter/match.ts";
import type { CompilePattern } from "../../../core/domain/logs/filter/pattern.ts";
import type { LogFilter } from "../../../core/domain/logs/filter/tree.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { LogScope } from "../../../core/ports/log-store.ts";
import { serviceLine } from "./entry.ts";

export interface Pushdown {
  /** Bounds that include every match; undefined if unbounded. */
  readonly from?: Instant;
  readonly to?: Instant;
  /** True if no service line can match, and therefore the platform's stream suffices. */
  readonly platformOnly: boolean;
}

type Leaf = Exclude<LogFilter, { kind: "and" | "or" | "not" }>;

/**
 * True for fields with the same value in all service lines: the log's name, and the request, which no service line has.
 */
const isSameInAllLines = (leaf: Leaf): boolean => {
  if (leaf.kind === "log_id") return true;
  return leaf.kind !== "search" && (leaf.path[0] === "logName" || leaf.path[0] === "httpRequest");
};

/** Returns whether any service line may match, and whether all service lines must match. */
const ofServices = (
  filter: LogFilter,
  passes: (leaf: Leaf) => boolean,
): { readonly some: boolean; readonly all: boolean } => {
  switch (filter.kind) {
    case "and": {
      const terms = filter.terms.map((term) => ofServices(term, passes));
      return { some: terms.every(({ some }) => some), all: terms.every(({ all }) => all) };
    }
    case "or": {
      const terms = filter.terms.map((term) => ofServices(term, passes));
      return { some: terms.some(({ some }) => some), all: terms.some(({ all }) => all) };
    }
    case "not": {
      const { some, all } = ofServices(filter.term, passes);
      return { some: !all, all: !some };
    }
    default: {
      const passed = isSameInAllLines(filter) ? passes(filter) : undefined;
      return { some: passed ?? true, all: passed ?? false };
    }
  }
};

type Span = Pick<Pushdown, "from" | "to">;

const later = (a: Instant | undefined, b: Instant | undefined): Instant | undefined =>
  a === undefined ? b : b === undefined || a > b ? a : b;
const earlier = (a: Instant | undefined, b: Instant | undefined): Instant | undefined =>
  a === undefined ? b : b === undefined || a < b ? a : b;

const span = (from: Instant | undefined, to: Instant | undefined): Span => ({
  ...(from === undefined ? {} : { from }),
  ...(to === undefined ? {} : { to }),
});

const ofLeaf = (leaf: Leaf): Span => {
  if (leaf.kind !== "compare" || leaf.path[0] !== "timestamp" || leaf.literal.text === null) return {};
  const time = timeOf(leaf.literal.text);
  if (time === undefined) return {};
  switch (leaf.op) {
    case "=":
    case ":":
      return { from: time, to: time };
    case ">":
    case ">=":
      return { from: time };
    case "<":
    case "<=":
      return { to: time };
    default:
      return {};
  }
};

const spanOf = (filter: LogFilter): Span => {
  switch (filter.kind) {
    case "and":
      return filter.terms.map(spanOf).reduce((a, b) => span(later(a.from, b.from), earlier(a.to, b.to)), {});
    case "or": {
      const [first = {}, ...rest] = filter.terms.map(spanOf);
      return rest.reduce<Span>(
        (a, b) =>
          span(
            a.from === undefined || b.from === undefined ? undefined : earlier(a.from, b.from),
            a.to === undefined || b.to === undefined ? undefined : later(a.to, b.to),
          ),
        first,
      );
    }
    case "not":
      return {};
    default:
      return ofLeaf(filter);
  }
};

export const pushdownOf = (filter: LogFilter, scope: LogScope, compile: CompilePattern): Pushdown => {
  const line = serviceLine(scope);
  const passes = (leaf: Leaf) => matcherOf(leaf, compile)(line);
  return { ...spanOf(filter), platformOnly: !ofServices(filter, passes).some };
};

/** True if CloudWatch Logs excludes no entry. */
export const isEverything = ({ from, to, platformOnly }: Pushdown): boolean =>
  from === undefined && to === undefined && !platformOnly;

/** True if no entry can match. */
export const isNothing = ({ from, to }: Pushdown): boolean => from !== undefined && to !== undefined && from > to;
