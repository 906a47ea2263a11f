/**
 * Text that breaks naive code: names of object properties, text that looks like another type, control and direction
 * characters, and beginnings of injections. Use them for each text that a client sends.
 */
import fc from "fast-check";
import { character } from "./characters.ts";

/** Each text tests a different failure. Add every text that has broken something. */
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

/** A text of `nastyStrings`, or any other text. */
export const nastyString = (): fc.Arbitrary<string> =>
  fc.oneof(fc.constantFrom(...nastyStrings), fc.string({ unit: character() }), fc.string({ unit: "grapheme" }));
