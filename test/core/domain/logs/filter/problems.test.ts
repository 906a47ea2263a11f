/** Every problem of a filter is reported immediately, with its position. */
import { expect, test } from "vitest";
import { compileRe2 } from "../../../../../adapters/shared/logs/re2.ts";
import { parseLogFilter } from "../../../../../core/domain/logs/filter/parse.ts";
import { printLogFilter } from "../../../../../core/domain/logs/filter/print.ts";
import { describeProblem } from "../../../../../core/domain/logs/filter/problem.ts";
import { hostileFilters } from "../../../../arbitraries/index.ts";

const problem = (text: string): string => describeProblem(parseLogFilter(text, compileRe2)._unsafeUnwrapErr());

test.each([
  ["a) OR (b", "at position 2: no parenthesis is open here"],
  ["(a", "at position 1: this parenthesis is not closed"],
  ["(a -- )", "at position 1: this parenthesis is not closed"],
  ['x = "a', 'at position 5: this quote is not closed; write a quote inside a text as \\"'],
  ['"a\\', "at position 1: this quote is not closed"],
  ["a AND", "at position 6: the filter ends where a term must stand"],
  ["a OR OR b", "at position 6: a term must stand where OR does"],
  ["NOT NOT a", "at position 5: a term must stand where NOT does"],
  ["NOT -a", "at position 5: negate once"],
  ["- a", "at position 1: '-' must stand right before what it negates"],
  ["()", "at position 2: a term must stand before this parenthesis"],
  ["a, b", "at position 2: a comma can stand between arguments only"],
  ["= 5", "at position 1: a field must stand before '='"],
  ["severity =", "at position 11: a value must stand behind '='"],
  ["severity=ERORR", "at position 10: must be a severity: DEFAULT, DEBUG"],
  ["sevrity=ERROR", "Did you mean 'severity'?"],
  ["status>=500", "Did you mean 'httpRequest.status'? A field of your own JSON lines is 'jsonPayload.status'."],
  ["textPayload.x=1", "at position 1: entries have no field 'textPayload.x'"],
  ["timestamp>=yesterday", "at position 12: must be an RFC 3339 date-time with an offset"],
  ["timestamp>=2026-01-01T00:00:00", "must be an RFC 3339 date-time with an offset"],
  ["timestamp=~x", "at position 12: '=~' compares texts, and 'timestamp' is none"],
  ["httpRequest.latency>fast", 'must be a duration, such as "1.5s"'],
  ["jsonPayload=x", "'jsonPayload' holds other fields"],
  ["jsonPayload..a=1", "a part of the field's name is empty"],
  ["severity=NULL_VALUE", "always has a value"],
  ["jsonPayload.a=*", "there are no wildcards"],
  ["err*", "there are no wildcards"],
  ["'a'", 'texts stand in double quotes: "..."'],
  ["a && b", "at position 3: write AND for '&&'"],
  ["a || b", "at position 3: write OR for '||'"],
  ["a ! b", "'!' alone means nothing"],
  ["a ~ b", "at position 3: '~' alone means nothing; write =~ or !~"],
  ["jsonPayload.count=- 5", "at position 19: a number must stand right behind '-'"],
  ['jsonPayload.count=-"5"', "at position 19: a number must stand right behind '-'"],
  ['labels."a"."b"', "a field must be compared"],
  ["sample(insertId, 0.1)", "at position 1: the function 'sample' is not supported here"],
  ["jsonPayload.a=cast(jsonPayload.b, STRING)", "at position 15: the function 'cast' is not supported here"],
  ["nonsense(1)", "there is no function 'nonsense'"],
  ["log_id()", "log_id has one argument"],
  ['textPayload=~"(a"', "at position 14: not a regular expression of RE2"],
  ['textPayload=~"a(?=b)"', "not a regular expression of RE2"],
  ['textPayload=~"a{1001}"', "not a regular expression of RE2"],
  [`textPayload=~"${"a".repeat(1001)}"`, "a regular expression of more than 1000 bytes"],
  [
    Array.from({ length: 31 }, (_, n) => `textPayload=~"p${n}"`).join(" OR "),
    "more than 30 regular expressions; one can have alternatives: a|b",
  ],
  ["httpRequest.status=abc", "at position 20: must be a number, such as 500"],
  ["httpRequest.responseSize:1k", "must be a number, such as 500"],
  ["httpRequest.cacheHit=yes", "must be true or false"],
  ["httpRequest.latency>1h30m", 'must be a duration, such as "1.5s"'],
  ['httpRequest.latency>"."', 'must be a duration, such as "1.5s"'],
  ['"httpRequest.status"=0', `at position 1: entries have no field '"httpRequest.status"'`],
  ['resource."labels.service_name"=app', `entries have no field 'resource."labels.service_name"'`],
  ['"resource.type"=""', "Did you mean 'resource.type'?"],
  ["httpRequest.status.code=1", "entries have no field 'httpRequest.status.code'"],
  ["😀 OR OR", "at position 6: a term must stand where OR does"],
  ["qa\u200bqb", "at position 3: a character that does not show; inside quotes it can be written as \\u200b"],
  ["\ufeffseverity=ERROR", "at position 1: a character that does not show; inside quotes it can be written as \\ufeff"],
  ["qa\u00adqb", "at position 3: a character that does not show"],
  ["qa\u2060=1", "at position 3: a character that does not show"],
  ["qa\u0085qb", "at position 3: a character that does not show"],
  ["a\u0000b", "at position 2: a character that does not show; inside quotes it can be written as \\u0000"],
  ['"\u202eabc"', "at position 2: a character that does not show; inside quotes it can be written as \\u202e"],
])("%j", (text, words) => expect(problem(text)).toContain(words));

test.each([
  ["(".repeat(20_000), "at position 65: parentheses nested deeper than 64"],
  ["NOT ".repeat(5000), "at position 5: a term must stand where NOT does"],
  [")".repeat(20_000), "at position 1: a term must stand before this parenthesis"],
  ["-(".repeat(10_000), "parentheses nested deeper than 64"],
  [`${"a OR ".repeat(3999)}`, "the filter ends where a term must stand"],
])("reads twenty thousand characters of any text without growing the stack", (text, words) => {
  expect(problem(text)).toContain(words);
});

test.each(hostileFilters)("%.40s… is a filter that survives printing", (text) => {
  expect(text.length).toBeLessThanOrEqual(20_000);
  const filter = parseLogFilter(text, compileRe2)._unsafeUnwrap();
  expect(parseLogFilter(printLogFilter(filter), compileRe2)._unsafeUnwrap()).toEqual(filter);
});
