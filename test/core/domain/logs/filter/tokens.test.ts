/** Words and signs of a filter: what an escape stands for, what ends a word, and what stands together. */
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
  ])("%s stands for %j", (written, text) => expect(texts(`"${written}"`)).toEqual([`string ${text}`, "end "]));

  test.each(["\\d+", "\\.", "\\u00g0", "\\U0011ffff", "\\U00200000", "\\x4", "\\ ", "\\\u4e00"])(
    "%s keeps its backslash, as a regular expression needs it",
    (written) => expect(texts(`"${written}"`)).toEqual([`string ${written}`, "end "]),
  );

  test("an escape may stand for the end of a line, which is kept", () => {
    expect(texts('"a\\\nb"')).toEqual(["string a\\\nb", "end "]);
  });
});

describe("a date-time stands without quotes, whole", () => {
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
    "%s is none, and ends at its colon",
    (time) => expect(texts(time).slice(0, 2)).toEqual([`text ${time.split(":")[0]}`, "comparison :"]),
  );
});

test("what stands right behind another token is glued to it; the end never is", () => {
  const glued = (text: string) => tokens(text).map((token) => token.glued);
  expect(glued("a b")).toEqual([false, false, false]);
  expect(glued("a(b")).toEqual([false, true, true, false]);
  expect(glued("a -- comment\nb")).toEqual([false, false, false]);
  expect(tokens("ab  c").map(({ at }) => at)).toEqual([0, 4, 5]);
});

test("every comparison is the longest that stands there", () => {
  expect(texts("a=~b!~c!=d<=e>=f=g<h>i:j").filter((one) => one.startsWith("comparison"))).toEqual(
    ["=~", "!~", "!=", "<=", ">=", "=", "<", ">", ":"].map((sign) => `comparison ${sign}`),
  );
});

test.each(["'", "!", "~", "\\"])("%s alone is no token, and its place is told", (sign) => {
  expect(tokensOf(`ab ${sign}`)._unsafeUnwrapErr().at).toBe(3);
});

test.each(['"', '"a', '"a\\"', '"\\'])("%s is not closed", (text) => {
  expect(tokensOf(`x ${text}`)._unsafeUnwrapErr()).toEqual({
    at: 2,
    message: 'this quote is not closed; write a quote inside a text as \\"',
  });
});
