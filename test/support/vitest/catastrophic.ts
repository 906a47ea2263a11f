/**
 * Regular expressions that are expensive, each for a different reason, and lines of 256 KiB for them. The lines contain
 * the literals of the patterns (`X`, `=`, `é`, a digit), so that no engine can skip the lines. No line matches.
 */

const LENGTH = 256 * 1024;
/** Each of these characters takes at most two bytes. */
const NEEDED = "X1=zdcyé ";

/** Pseudorandom letters: the same in every run, without structure that an automaton could use. */
const shuffled = (letters: string): string => {
  let seed = 1;
  let text = "";
  while (text.length < LENGTH - 2 * NEEDED.length) {
    seed = (Math.imul(seed, 1_103_515_245) + 12_345) & 0x7fffffff;
    text += letters[(seed >>> 16) % letters.length];
  }
  return `${NEEDED}${text}!`;
};

export const catastrophicLines = (): readonly string[] => [
  shuffled("ab"),
  `${NEEDED}${"a".repeat(LENGTH - 2 * NEEDED.length)}!`,
  shuffled("ab cdefgh_0123"),
];

const shapes: readonly string[] = [
  // Nested repeats, on which a backtracking engine never ends.
  ...["(a+)+$", "(a*)*X$", "(a|aa)+$", "(a|a)*X$", "([a-z]+)*X$", "(a|b|ab)*X$", "((a*)*)*X$", "(\\w+\\s?)*X$"],
  ...["^(([a-z])+.)+[A-Z]$", "(x+x+)+y$", "(.*a){12}X$", "(?:a?){15}a{15}X$", "(a?b?){12}X$", "(.*)(.*)(.*)(.*)X$"],
  // Alternatives with the same prefix.
  ...[
    "(?i)(a|b|ab|ba)*éX$",
    "(?:(?:a|b|ab|ba|aba|bab)*){5}X$",
    "([ab]|a|b|.)*X$",
    "(\\w|\\W)*\\bX$",
    "(?:\\w*\\W*){10}X$",
  ],
  // Classes with all letters.
  ...["\\p{L}*\\p{N}X$", "(\\p{L}|\\p{N}|\\s)*X$", "(?i)[^é]*(é|É)X$", "\\pL{40}X$", "(?:[^\\pL]|\\pL){20}X$"],
];

const variants = shapes.flatMap((shape) => [shape, `(?i)${shape}`, `(?s:.)*(${shape})`, `(?:${shape})|zz+[\\pL]X$`]);

/** Remembering n letters takes 2^n states, so no engine can build the automaton. */
const remembered = [20, 40, 60, 80, 93].flatMap((far) => [`a.{${far}}X$`, `[ab]*a[ab]{${far}}X$`]);

export const catastrophicPatterns: readonly string[] = [...variants, ...remembered];
