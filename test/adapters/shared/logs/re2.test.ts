/** Clients' regular expressions: RE2 syntax, in linear time. */
import { expect, test } from "vitest";
import { compileRe2 } from "../../../../adapters/shared/logs/re2.ts";

const finds = (pattern: string, text: string): boolean => {
  const search = compileRe2(pattern);
  if (typeof search !== "function") throw new Error(search.problem);
  return search(text);
};

test.each([
  ["a+b", "xaab", true],
  ["^a", "ba", false],
  ["(?i)HeLLo", "say hello", true],
  ["\\p{Greek}", "σ", true],
  ["", "", true],
  ["(?P<name>x)", "x", true],
])("%s in %j: %s", (pattern, text, found) => expect(finds(pattern, text)).toBe(found));

test.each(["(", "a{1001}", "(?=x)", "\\1", "[z-a]", "*", "((a{100}){100}){100}"])(
  "rejects %s with a message",
  (pattern) => {
    expect(compileRe2(pattern)).toEqual({ problem: expect.stringContaining("not a valid RE2 regular expression") });
  },
);

test.each([
  "a{1000}",
  "(a?){100}a{100}",
  "((a{1,10}){1,10}){1,10}$",
  `${".*".repeat(450)}X`,
  `${".?".repeat(490)}X$`,
  `${"[^q]*".repeat(180)}X$`,
  `(${"[ab]*".repeat(180)})*X$`,
  `${"(?i:é|a|b)*".repeat(70)}X$`,
  `a${".".repeat(200)}X$`,
])("rejects %.40s because it has too many steps", (pattern) => {
  expect(compileRe2(pattern)).toEqual({ problem: expect.stringContaining("too long: it expands to") });
});

test.each(["", "(?i)"])("accepts a long list of words, %s", (flags) => {
  const words = Array.from({ length: 120 }, (_, n) => `word${n}\\.x`).join("|");
  expect(finds(`${flags}(?:${words})$`, "this is word119.x")).toBe(true);
  expect(finds(`${flags}(?:${words})$`, "this is word119")).toBe(false);
});
