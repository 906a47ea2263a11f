/**
 * Regular expressions that are dear, each in its own way, and lines of 256 KiB for them. The lines have what the patterns
 * need (`X`, `=`, `é`, a digit), so that no engine can leave them out for want of it, and none of them matches.
 */

const LENGTH = 256 * 1024;
/** The bytes of these count twice. */
const NEEDED = "X1=zdcyé ";

/** Without a pattern in it that an automaton could make use of: the same every time, and as good as random. */
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
  // Repeats of repeats, where whoever goes back and tries again never ends.
  ...["(a+)+$", "(a*)*X$", "(a|aa)+$", "(a|a)*X$", "([a-z]+)*X$", "(a|b|ab)*X$", "((a*)*)*X$", "(\\w+\\s?)*X$"],
  ...["^(([a-z])+.)+[A-Z]$", "(x+x+)+y$", "(.*a){12}X$", "(?:a?){15}a{15}X$", "(a?b?){12}X$", "(.*)(.*)(.*)(.*)X$"],
  // Alternatives that share all they have.
  ...[
    "(?i)(a|b|ab|ba)*éX$",
    "(?:(?:a|b|ab|ba|aba|bab)*){5}X$",
    "([ab]|a|b|.)*X$",
    "(\\w|\\W)*\\bX$",
    "(?:\\w*\\W*){10}X$",
  ],
  // Classes of all the letters there are.
  ...["\\p{L}*\\p{N}X$", "(\\p{L}|\\p{N}|\\s)*X$", "(?i)[^é]*(é|É)X$", "\\pL{40}X$", "(?:[^\\pL]|\\pL){20}X$"],
];

const variants = shapes.flatMap((shape) => [shape, `(?i)${shape}`, `(?s:.)*(${shape})`, `(?:${shape})|zz+[\\pL]X$`]);

/** What has to be remembered for so many letters has two to the power of that many states: no automaton is kept. */
const remembered = [20, 40, 60, 80, 93].flatMap((far) => [`a.{${far}}X$`, `[ab]*a[ab]{${far}}X$`]);

export const catastrophicPatterns: readonly string[] = [...variants, ...remembered];
