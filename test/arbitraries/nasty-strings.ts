/**
 * Strings that break naive code: words that JavaScript objects already have, text that looks like another type,
 * control and direction characters, and the openings of every injection. Use them for any text of a client.
 */
import fc from "fast-check";
import { character } from "./characters.ts";

/** The fixed list, each for a different reason; add any text that once broke something. */
export const nastyStrings: readonly string[] = [
  "",
  " ",
  "\t",
  "\n",
  "\r\n",
  "\0",
  "a\0b",
  "__proto__",
  "constructor",
  "toString",
  "hasOwnProperty",
  "null",
  "undefined",
  "true",
  "NaN",
  "Infinity",
  "-0",
  "0x10",
  "1e3",
  "9007199254740993",
  "[]",
  "{}",
  '{"a":1}',
  '"',
  "'",
  "\\",
  "`",
  "$(id)",
  "; rm -rf /",
  "' OR 1=1 --",
  "<script>alert(1)</script>",
  "../../etc/passwd",
  "/",
  "//",
  "a/../b",
  "%2e%2e%2f",
  "%00",
  "C:\\windows",
  "\u202eabc",
  "\u200b",
  "\ufeff",
  "\u2028",
  "é",
  "e\u0301",
  "ﬁ",
  "İ",
  "ß",
  "😀",
  "👩‍👩‍👧‍👦",
  "\ud800",
  "a".repeat(10_000),
];

/** One of the list, or any text at all. */
export const nastyString = (): fc.Arbitrary<string> =>
  fc.oneof(fc.constantFrom(...nastyStrings), fc.string({ unit: character() }), fc.string({ unit: "grapheme" }));
