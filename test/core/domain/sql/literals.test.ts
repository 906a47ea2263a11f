/** GoogleSQL literals are rewritten without moving the text that follows them. */
import { describe, expect, test } from "vitest";
import { plainLiterals } from "../../../../core/domain/sql/literals.ts";

const B = "\\";

describe("rewrites literals to plain forms", () => {
  test.each([
    [`'a ${B}u00e9 b'`, "'a é b'     "],
    [`'${B}U0001F600'`, "'😀'        "],
    [`'${B}X41${B}x42${B}103'`, "'ABC'         "],
    [`'${B}\`${B}?${B}"'`, "'`?\"'   "],
    [`"it's ${B}""`, `'it${B}'s "'`],
    [`'${B}${B}d'`, `'${B}${B}d'`],
    [`'''a'b'''`, `'a${B}'b'   `],
    ["'''a\nb'''", `'a${B}nb'\n    `],
    [`b'${B}n${B}101é'`, `b'${B}x0aA${B}xc3${B}xa9'`],
    [`rb'a${B}n'`, `b'a${B}x5cn'`],
    [`BR"x"`, "b'x' "],
  ])("%s", (text, plain) => {
    expect(plainLiterals(`SELECT ${text} AS a`)).toBe(`SELECT ${plain} AS a`);
  });

  test.each([
    "'plain'",
    '"plain"',
    "''",
    `r'${B}d'`,
    `r"${B}""`,
    "a.b + 'c' || \"d\"",
    "1 -- it's\n AS a, 2 # it's",
    "/* it's '' */ 'x' /* 'y' */",
    "`it's`",
    "bar'x'",
    "DATE '2026-01-01' = '2026-01-02'",
  ])("does not change %s", (text) => expect(plainLiterals(`SELECT ${text}`)).toBe(`SELECT ${text}`));

  test.each([`'open`, `'''open'`, `'${B}`, "`open", "/* open"])("leaves %s to the parser", (text) => {
    expect(plainLiterals(`SELECT ${text}`)).toBe(`SELECT ${text}`);
  });

  test.each([
    [`'a${B}d'`, 9, "illegal escape sequence '\\d'"],
    [`'${B}xZZ'`, 8, "illegal escape sequence '\\x'"],
    [`'${B}400'`, 8, "illegal escape"],
    [`'${B}u12'`, 8, "illegal escape"],
    [`'${B}ud800'`, 8, "not a Unicode character"],
    [`'${B}U00110000'`, 8, "not a Unicode character"],
    [`b'${B}u0041'`, 9, "illegal escape"],
    [`'a${B}\n'`, 9, "illegal escape"],
    ["'a' 'b'", 11, "two literals are adjacent"],
    ["'it''s'", 11, "two literals are adjacent"],
    ["'a' /* c */ r\"b\"", 19, "two literals are adjacent"],
  ])("rejects %s", (text, at, message) => {
    expect(plainLiterals(`SELECT ${text}`)).toEqual({ at, message: expect.stringContaining(message) });
  });

  test("throws if the rewriting itself fails, instead of reporting a fault in the statement", () => {
    expect(() => plainLiterals(undefined as never)).toThrow(TypeError);
  });

  test("reads any text in time proportional to its length", () => {
    for (const part of ["'", `${B}'`, "`", "/*", "--", "b", "r'", "'''", "''", " "])
      expect(plainLiterals(part.repeat(100_000))).toBeDefined();
  });
});
