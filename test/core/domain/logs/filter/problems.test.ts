/** Every problem of a filter is reported immediately, with its position. */
import { expect, test } from "vitest";
import { compileRe2 } from "../../../../../adapters/shared/logs/re2.ts";
import { parseLogFilter } from "../../../../../core/domain/logs/filter/parse.ts";
import { printLogFilter } from "../../../../../core/domain/logs/filter/print.ts";
import { describeProblem } from "../../../../../core/domain/logs/filter/problem.ts";
import { hostileFilters } from "../../../../arbitraries/index.ts";

const problem = (text: string): string => describeProblem(parseLogFilter(text, compileRe2)._unsafeUnwrapErr());

test.each([
  ["a) OR (b", "at position 2: unexpected ')': no parenthesis is open"],
  ["(a", "at position 1: this parenthesis is not closed"],
  ["(a -- )", "at position 1: this parenthesis is not closed"],
  ['x = "a', 'at position 5: this quote is not closed; write a quote inside a string as \\"'],
  ['"a\\', "at position 1: this quote is not closed"],
  ["a AND", "at position 6: expected a term, but the filter ends"],
  ["a OR OR b", "at position 6: expected a term, found OR"],
  ["NOT NOT a", "at position 5: expected a term, found NOT"],
  ["NOT -a", "at position 5: negate once"],
  ["- a", "at position 1: '-' must directly precede the term that it negates"],
  ["()", "at position 2: expected a term before this parenthesis"],
  ["a, b", "at position 2: unexpected ',': a comma is allowed only between arguments"],
  ["= 5", "at position 1: expected a field before '='"],
  ["severity =", "at position 11: expected a value after '='"],
  ["severity=ERORR", "at position 10: must be a severity: DEFAULT, DEBUG"],
  ["sevrity=ERROR", "Did you mean 'severity'?"],
  ["status>=500", "Did you mean 'httpRequest.status'? For a field of your JSON lines, use 'jsonPayload.status'."],
  ["textPayload.x=1", "at position 1: unknown field 'textPayload.x'"],
  ["timestamp>=yesterday", "at position 12: must be an RFC 3339 date-time with an offset"],
  ["timestamp>=2026-01-01T00:00:00", "must be an RFC 3339 date-time with an offset"],
  ["timestamp=~x", "at position 12: '=~' compares strings, but 'timestamp' is not a string"],
  ["httpRequest.latency>fast", 'must be a duration, such as "1.5s"'],
  ["jsonPayload=x", "'jsonPayload' contains other fields"],
  ["jsonPayload..a=1", "a part of the field path is empty"],
  ["severity=NULL_VALUE", "always has a value"],
  ["jsonPayload.a=*", "wildcards are not supported"],
  ["err*", "wildcards are not supported"],
  ["'a'", 'write strings in double quotes: "..."'],
  ["a && b", "at position 3: use AND instead of '&&'"],
  ["a || b", "at position 3: use OR instead of '||'"],
  ["a ! b", "'!' is not an operator"],
  ["a ~ b", "at position 3: '~' is not an operator; use =~ or !~"],
  ["jsonPayload.count=- 5", "at position 19: expected a number directly after '-'"],
  ['jsonPayload.count=-"5"', "at position 19: expected a number directly after '-'"],
  ['labels."a"."b"', "expected a comparison after the field"],
  ["sample(insertId, 0.1)", "at position 1: the function 'sample' is not supported"],
  ["jsonPayload.a=cast(jsonPayload.b, STRING)", "at position 15: the function 'cast' is not supported"],
  ["nonsense(1)", "unknown function 'nonsense'"],
  ["log_id()", "log_id takes one argument"],
  ['textPayload=~"(a"', "at position 14: not a valid RE2 regular expression"],
  ['textPayload=~"a(?=b)"', "not a valid RE2 regular expression"],
  ['textPayload=~"a{1001}"', "not a valid RE2 regular expression"],
  [`textPayload=~"${"a".repeat(1001)}"`, "a regular expression must be at most 1000 bytes"],
  [
    Array.from({ length: 31 }, (_, n) => `textPayload=~"p${n}"`).join(" OR "),
    "more than 30 regular expressions; combine some as alternatives: a|b",
  ],
  ["httpRequest.status=abc", "at position 20: must be a number, such as 500"],
  ["httpRequest.responseSize:1k", "must be a number, such as 500"],
  ["httpRequest.cacheHit=yes", "must be true or false"],
  ["httpRequest.latency>1h30m", 'must be a duration, such as "1.5s"'],
  ['httpRequest.latency>"."', 'must be a duration, such as "1.5s"'],
  ['"httpRequest.status"=0', `at position 1: unknown field '"httpRequest.status"'`],
  ['resource."labels.service_name"=app', `unknown field 'resource."labels.service_name"'`],
  ['"resource.type"=""', "Did you mean 'resource.type'?"],
  ["httpRequest.status.code=1", "unknown field 'httpRequest.status.code'"],
  ["😀 OR OR", "at position 6: expected a term, found OR"],
  ["qa\u200bqb", "at position 3: invisible character; inside quotes, write it as \\u200b"],
  ["\ufeffseverity=ERROR", "at position 1: invisible character; inside quotes, write it as \\ufeff"],
  ["qa\u00adqb", "at position 3: invisible character"],
  ["qa\u2060=1", "at position 3: invisible character"],
  ["qa\u0085qb", "at position 3: invisible character"],
  ["a\u0000b", "at position 2: invisible character; inside quotes, write it as \\u0000"],
  ['"\u202eabc"', "at position 2: invisible character; inside quotes, write it as \\u202e"],
])("%j", (text, words) => expect(problem(text)).toContain(words));

test.each([
  ["(".repeat(20_000), "at position 65: parentheses are nested deeper than 64"],
  ["NOT ".repeat(5000), "at position 5: expected a term, found NOT"],
  [")".repeat(20_000), "at position 1: expected a term before this parenthesis"],
  ["-(".repeat(10_000), "parentheses are nested deeper than 64"],
  [`${"a OR ".repeat(3999)}`, "expected a term, but the filter ends"],
])("reads twenty thousand characters of any text without growing the stack", (text, words) => {
  expect(problem(text)).toContain(words);
});

test.each(hostileFilters)("%.40s… is a filter that survives printing", (text) => {
  expect(text.length).toBeLessThanOrEqual(20_000);
  const filter = parseLogFilter(text, compileRe2)._unsafeUnwrap();
  expect(parseLogFilter(printLogFilter(filter), compileRe2)._unsafeUnwrap()).toEqual(filter);
});
