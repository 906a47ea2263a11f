/** Valid filters of nearly the maximum length. Vendors' stores have lower limits, which callers must not notice. */

const MAX_CHARS = 20_000;

/** Repeats the text up to nearly the maximum length. */
const repeat = (text: string, between = " "): string =>
  Array.from({ length: Math.floor((MAX_CHARS - 100) / (text.length + between.length)) }, () => text).join(between);

/** Filters that every log store must accept, and evaluate like shorter ones. */
export const hostileFilters: readonly string[] = [
  repeat("a"),
  repeat("a", " OR "),
  repeat("-a"),
  `NOT (${repeat("timeout")})`,
  `jsonPayload${repeat(".a", "")}=1`,
  `jsonPayload.a=(${repeat("x", " OR ")})`,
  repeat("severity=INFO", " OR "),
  repeat("severity>=INFO"),
  repeat("timestamp>=2020-01-01"),
  repeat("httpRequest.latency<1s"),
  repeat("textPayload:a", " OR "),
  repeat('log_id("stdout")'),
  repeat("NOT jsonPayload.a:*"),
  `${"NOT (".repeat(60)}a${")".repeat(60)}`,
  `${"(a OR b (".repeat(30)}a${"))".repeat(30)}`,
  `"${"\\".repeat(19_998)}"`,
];
