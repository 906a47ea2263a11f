/**
 * Single Unicode characters. fast-check's own `unit: "binary"` first builds a list of all 1,112,064 characters, which
 * takes most of a second in every process that imports a generator.
 */
import fc from "fast-check";

const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;
const LAST = 0x10ffff;

/** One code point that is not a surrogate. Smaller code points are more likely. */
export const character = (): fc.Arbitrary<string> =>
  fc.nat({ max: LAST - SURROGATES }).map((nth) => String.fromCodePoint(nth < FIRST_SURROGATE ? nth : nth + SURROGATES));
