/** Filters as long as they may be, of which every one is legal: stores have limits of their own, and must not show them. */

const LETTERS = 20_000;

/** As often as there is room. */
const often = (text: string, between = " "): string =>
  Array.from({ length: Math.floor((LETTERS - 100) / (text.length + between.length)) }, () => text).join(between);

export const hostileFilters: readonly string[] = [
  often("a"),
  often("a", " OR "),
  often("-a"),
  `NOT (${often("timeout")})`,
  `jsonPayload${often(".a", "")}=1`,
  `jsonPayload.a=(${often("x", " OR ")})`,
  often("severity=INFO", " OR "),
  often("severity>=INFO"),
  often("timestamp>=2020-01-01"),
  often("httpRequest.latency<1s"),
  often("textPayload:a", " OR "),
  often('log_id("stdout")'),
  often("NOT jsonPayload.a:*"),
  `${"NOT (".repeat(60)}a${")".repeat(60)}`,
  `${"(a OR b (".repeat(30)}a${"))".repeat(30)}`,
  `"${"\\".repeat(19_998)}"`,
];
