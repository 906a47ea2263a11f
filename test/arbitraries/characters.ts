/**
 * Any character of Unicode, alone: fast-check's own `unit: "binary"` first writes down all 1,112,064 of them, which takes
 * most of a second of every process that only loads a generator.
 */
import fc from "fast-check";

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;
const LAST = 0x10ffff;

/** One code point, but no half of a surrogate pair; small ones, down to the null byte, more often. */
export const character = (): fc.Arbitrary<string> =>
  fc.nat({ max: LAST - SURROGATES }).map((nth) => String.fromCodePoint(nth < FIRST_SURROGATE ? nth : nth + SURROGATES));
