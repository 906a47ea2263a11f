/** The canonical text of a filter: parentheses only if needed, escapes only for invisible characters. */
import { expect, test } from "vitest";
import { compileRe2 } from "../../../../../adapters/shared/logs/re2.ts";
import { parseLogFilter } from "../../../../../core/domain/logs/filter/parse.ts";
import { printLogFilter } from "../../../../../core/domain/logs/filter/print.ts";
import type { LogFilter } from "../../../../../core/domain/logs/filter/tree.ts";

const canonical = (text: string): string => printLogFilter(parseLogFilter(text, compileRe2)._unsafeUnwrap());

test.each([
  ["", ""],
  ["a b", '"a" AND "b"'],
  ["a AND b AND c", '"a" AND "b" AND "c"'],
  ["a OR b OR c", '"a" OR "b" OR "c"'],
  ["a OR b c", '("a" OR "b") AND "c"'],
  ["(a OR b) c", '("a" OR "b") AND "c"'],
  ["(a AND b) OR c", '("a" AND "b") OR "c"'],
  ["NOT a", 'NOT "a"'],
  ["-a b", 'NOT "a" AND "b"'],
  ["NOT (NOT a)", 'NOT (NOT "a")'],
  ["(NOT a) OR b", 'NOT "a" OR "b"'],
  ["NOT (a b)", 'NOT ("a" AND "b")'],
  ["NOT (a OR b)", 'NOT ("a" OR "b")'],
  ["severity >= ERROR", 'severity>="ERROR"'],
  ["jsonPayload.a=NULL_VALUE", "jsonPayload.a=NULL_VALUE"],
  ['labels."a/b".c=1', 'labels."a/b".c="1"'],
  ["labels.a1:*", "labels.a1:*"],
  ["log_id(stdout)", 'log_id("stdout")'],
])("prints %s as %s", (text, printed) => expect(canonical(text)).toBe(printed));

test.each([
  ['say "hi"', '"say \\"hi\\""'],
  ["back\\slash", '"back\\\\slash"'],
  ["two\nlines", '"two\\u000alines"'],
  ["soft\u00adhyphen", '"soft\\u00adhyphen"'],
  ["line\u2028end", '"line\\u2028end"'],
  ["paragraph\u2029end", '"paragraph\\u2029end"'],
  ["turned \u202e round", '"turned \\u202e round"'],
  ["tag \u{e0001}", '"tag \\U000e0001"'],
  ["grüß 数据 😀", '"grüß 数据 😀"'],
])("prints the text %j as %s", (text, printed) => expect(printLogFilter({ kind: "search", text })).toBe(printed));

test("puts an empty node in parentheses, because an empty text would not parse", () => {
  const nothing: LogFilter = { kind: "or", terms: [] };
  const one: LogFilter = { kind: "or", terms: [{ kind: "search", text: "a" }] };
  expect(printLogFilter({ kind: "and", terms: [nothing, one] })).toBe('() AND ("a")');
});
