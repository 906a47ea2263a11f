/** The tokens of a filter: escapes, where a word ends, and which tokens are adjacent. */
import { describe, expect, test } from "vitest";
import { tokensOf } from "../../../../../core/domain/logs/filter/tokens.ts";

const tokens = (text: string) => tokensOf(text)._unsafeUnwrap();
const texts = (text: string): string[] => tokens(text).map((token) => `${token.kind} ${token.text}`);

describe("a quoted string", () => {
  test.each([
    ["\\a", "\x07"],
    ["\\b", "\b"],
    ["\\f", "\f"],
    ["\\n", "\n"],
    ["\\r", "\r"],
    ["\\t", "\t"],
    ["\\v", "\v"],
    ['\\"', '"'],
    ["\\'", "'"],
    ["\\\\", "\\"],
    ["\\u00e9", "é"],
    ["\\U0001f600", "😀"],
    ["\\U0010ffff", "\u{10ffff}"],
    ["\\x41", "A"],
    ["\\x41B", "AB"],
  ])("%s means %j", (written, text) => expect(texts(`"${written}"`)).toEqual([`string ${text}`, "end "]));

  test.each(["\\d+", "\\.", "\\u00g0", "\\U0011ffff", "\\U00200000", "\\x4", "\\ ", "\\\u4e00"])(
    "%s keeps its backslash for the regular expression",
    (written) => expect(texts(`"${written}"`)).toEqual([`string ${written}`, "end "]),
  );

  test("an escaped line feed is kept", () => {
    expect(texts('"a\\\nb"')).toEqual(["string a\\\nb", "end "]);
  });
});

describe("a date-time needs no quotes", () => {
  test.each([
    "2026-01-31T09:08:07Z",
    "2026-01-31t09:08:07z",
    "2026-01-31T09:08:07.123456789Z",
    "2026-01-31T09:08:07+05:30",
    "2026-01-31T09:08:07.5-11:45",
  ])("%s", (time) => {
    for (const behind of ["", " ", "\t", "\n", "\r", "\u00a0", "(", ")", "--x"])
      expect(texts(`${time}${behind}`)[0]).toBe(`text ${time}`);
  });

  test.each(["2026-01-31T09:08:07", "2026-01-31T09:08:07+05", "2026-01-31T09:08:07+0530", "2026-01-31T09:08:07.Z"])(
    "%s is not a date-time and ends at its colon",
    (time) => expect(texts(time).slice(0, 2)).toEqual([`text ${time.split(":")[0]}`, "comparison :"]),
  );
});

test("a token directly after another is adjacent to it; the end never is", () => {
  const glued = (text: string) => tokens(text).map((token) => token.glued);
  expect(glued("a b")).toEqual([false, false, false]);
  expect(glued("a(b")).toEqual([false, true, true, false]);
  expect(glued("a -- comment\nb")).toEqual([false, false, false]);
  expect(tokens("ab  c").map(({ at }) => at)).toEqual([0, 4, 5]);
});

test("reads the longest comparison operator", () => {
  expect(texts("a=~b!~c!=d<=e>=f=g<h>i:j").filter((one) => one.startsWith("comparison"))).toEqual(
    ["=~", "!~", "!=", "<=", ">=", "=", "<", ">", ":"].map((sign) => `comparison ${sign}`),
  );
});

test.each(["'", "!", "~", "\\"])("%s alone is not a token, and its position is reported", (sign) => {
  expect(tokensOf(`ab ${sign}`)._unsafeUnwrapErr().at).toBe(3);
});

test.each(['"', '"a', '"a\\"', '"\\'])("%s is not closed", (text) => {
  expect(tokensOf(`x ${text}`)._unsafeUnwrapErr()).toEqual({
    at: 2,
    message: 'this quote is not closed; write a quote inside a string as \\"',
  });
});
