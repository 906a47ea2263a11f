/**
 * Translates one filter condition for Cloud Logging. Cloud Logging's log names, ids and severities differ from the
 * core's, and the documentation of its query language omits edge cases. The adapter therefore pushes a condition down
 * only if its documented meaning is the same, and applies the whole filter to the results.
 * https://cloud.google.com/logging/docs/view/logging-query-language
 */

import { type LogEntry, type LogName, severityNames } from "../../../core/domain/logs/entry.ts";
import { numberOf, timeOf, truthOf } from "../../../core/domain/logs/filter/literals.ts";
import { matcherOf } from "../../../core/domain/logs/filter/match.ts";
import type { CompilePattern } from "../../../core/domain/logs/filter/pattern.ts";
import type { FieldPath, LogFilter } from "../../../core/domain/logs/filter/tree.ts";
import { type Instant, timestampOf } from "../../../core/domain/wire/instant.ts";
import type { LogScope } from "../../../core/ports/log-store.ts";
import { any, type Bound } from "./bound.ts";
import { INSTANCE_LABEL } from "./entry.ts";
import { fullLogName, logIds } from "./names.ts";

/** The condition implies `atLeast`, and `atMost` implies the condition. */
export interface Bounds {
  readonly atLeast: Bound;
  readonly atMost: Bound;
}

export interface Dialect {
  readonly project: string;
  readonly scope: LogScope;
  readonly compile: CompilePattern;
}

type Compare = Extract<LogFilter, { kind: "compare" }>;

const exactly = (bound: Bound): Bounds => ({ atLeast: bound, atMost: bound });
const atLeast = (bound: Bound): Bounds => ({ atLeast: bound, atMost: false });
const unknown = atLeast(true);

const equals = (path: FieldPath, text: string): LogFilter => ({ kind: "compare", path, op: "=", literal: { text } });

/** An entry with only the fields that every entry of the scope has. */
const plainEntry = ({ owner, service }: LogScope): LogEntry => ({
  owner,
  service,
  severity: "DEFAULT",
  logName: "stdout",
  instant: 0n as Instant,
  code: "",
});

/** For a field with few possible values: returns a condition that matches the values that pass. */
const oneOf = <T>(values: readonly T[], passes: (value: T) => boolean, filterOf: (value: T) => Bound): Bound => {
  const passing = values.filter(passes);
  return passing.length === values.length ? true : any(passing.map(filterOf));
};

const byLogName = (leaf: LogFilter, { project, scope, compile }: Dialect): Bounds => {
  const matches = matcherOf(leaf, compile);
  const passes = ([, logName]: readonly [string, LogName]) => matches({ ...plainEntry(scope), logName });
  return exactly(oneOf(Object.entries(logIds), passes, ([id]) => equals(["logName"], fullLogName(project, id))));
};

/** An entry with DEFAULT in Cloud Logging may have any severity, because loggers write the severity into the line. */
const bySeverity = (leaf: LogFilter, { scope, compile }: Dialect): Bounds => {
  const matches = matcherOf(leaf, compile);
  const passes = (severity: LogEntry["severity"]) => matches({ ...plainEntry(scope), severity });
  const known = severityNames.filter((name) => name !== "DEFAULT");
  const filterOf = (name: string) => equals(["severity"], name);
  if (severityNames.every(passes)) return exactly(true);
  if (!severityNames.some(passes)) return exactly(false);
  const atMost = any(known.filter(passes).map(filterOf));
  return { atLeast: any([atMost, filterOf("DEFAULT")]), atMost };
};

const byTime = ({ path, op, literal }: Compare): Bounds => {
  const time = timeOf(literal.text ?? "");
  if (time === undefined) return unknown;
  return exactly({ kind: "compare", path, op: op === ":" ? "=" : op, literal: { text: timestampOf(time) } });
};

/** Case folding of ASCII text is the same in every Unicode version. */
const isPlain = (text: string | null): text is string => text !== null && /^[\x20-\x7e]+$/.test(text);

/** Translates a text condition, unless the condition matches entries without the field. */
const byText = (leaf: Compare, path: FieldPath, { scope, compile }: Dialect): Bounds => {
  const { op, literal } = leaf;
  if (!isPlain(literal.text) || matcherOf(leaf, compile)(plainEntry(scope))) return unknown;
  if (op === "=" || op === ":") return exactly({ ...leaf, path });
  // Cloud Logging also uses RE2, but perhaps a different version.
  return op === "=~" ? atLeast({ ...leaf, path }) : unknown;
};

/** Matches text that Cloud Logging may store in a different form: times, ids, durations and numbers. */
const RENDERED = /^[-0-9tzsen.:+ ]*$/i;
const renderedWords = [...severityNames, ...Object.values(logIds), "true", "false", "infinity"].map((word) =>
  word.toLowerCase(),
);

/** Cloud Logging also searches fields that the core's entries lack, so the core may reject what Cloud Logging finds. */
const bySearch = (leaf: Extract<LogFilter, { kind: "search" }>): Bounds => {
  const word = leaf.text.toLowerCase();
  const isRendered = RENDERED.test(word) || renderedWords.some((one) => one.includes(word));
  return isPlain(leaf.text) && !isRendered ? atLeast(leaf) : unknown;
};

/**
 * Pushes down only top-level payload fields: the documentation does not state whether Cloud Logging searches lists on
 * the path, or how `:` compares objects. A search of the whole entry finds every match of `:`.
 */
const byPayload = (leaf: Compare): Bounds => {
  const { path, op, literal } = leaf;
  if (!isPlain(literal.text)) return unknown;
  if (op === ":") return bySearch({ kind: "search", text: literal.text });
  const isText = truthOf(literal.text) === undefined && numberOf(literal.text) === undefined;
  return op === "=" && path.length === 2 && isText ? exactly(leaf) : unknown;
};

/** The core treats a missing status as 0. Cloud Logging documents this only for entries with a request. */
const byStatus = (leaf: Compare, { scope, compile }: Dialect): Bounds => {
  const number = numberOf(leaf.literal.text ?? "");
  if (number === undefined || !Number.isSafeInteger(number) || leaf.op === ":") return unknown;
  if (matcherOf(leaf, compile)(plainEntry(scope))) return unknown;
  return exactly({ ...leaf, literal: { text: String(number) } });
};

const texts: ReadonlySet<string> = new Set(["requestMethod", "requestUrl", "userAgent", "remoteIp", "protocol"]);

const byLabel = (leaf: Compare, dialect: Dialect): Bounds => {
  const name = leaf.path.slice(1).join(".");
  const matchesPlain = matcherOf(leaf, dialect.compile)(plainEntry(dialect.scope));
  if (leaf.path[0] === "labels" && name === INSTANCE_LABEL) return byText(leaf, leaf.path, dialect);
  if (leaf.path[0] === "labels") return name === "" ? unknown : exactly(matchesPlain);
  if (name === "labels.instance_id") return byText(leaf, ["labels", INSTANCE_LABEL], dialect);
  if (name === "labels.revision_name") return byText(leaf, leaf.path, dialect);
  // The other labels are constant within the scope: the service name, the type, and labels that core entries lack.
  return name === "labels" || name === "" ? unknown : exactly(matchesPlain);
};

const byField = (leaf: Compare, dialect: Dialect): Bounds => {
  const [first, second] = leaf.path;
  switch (first) {
    case "timestamp":
      return byTime(leaf);
    case "severity":
      return bySeverity(leaf, dialect);
    case "logName":
      return byLogName(leaf, dialect);
    case "textPayload":
      return byText(leaf, leaf.path, dialect);
    case "jsonPayload":
      return byPayload(leaf);
    case "resource":
    case "labels":
      return byLabel(leaf, dialect);
    case "httpRequest":
      if (leaf.path.length !== 2 || second === undefined) return unknown;
      return second === "status"
        ? byStatus(leaf, dialect)
        : texts.has(second)
          ? byText(leaf, leaf.path, dialect)
          : unknown;
    default:
      return unknown;
  }
};

export const boundsOfLeaf = (leaf: Exclude<LogFilter, { kind: "and" | "or" | "not" }>, dialect: Dialect): Bounds => {
  switch (leaf.kind) {
    case "compare":
      return leaf.literal.text === null ? unknown : byField(leaf, dialect);
    case "log_id":
      return byLogName(leaf, dialect);
    case "search":
      return bySearch(leaf);
    case "exists":
      return unknown;
  }
};
