/** Helpers that the lexers of log filters and SQL literals share. */

/** Matches a sticky pattern (flag `y`) at an offset. */
export const matchAt = (pattern: RegExp, text: string, at: number): RegExpExecArray | null => {
  pattern.lastIndex = at;
  return pattern.exec(text);
};

/** The characters of C's simple escape sequences, by the character after the backslash. */
export const simpleEscapes: ReadonlyMap<string, string> = new Map([
  ["a", "\x07"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
  ['"', '"'],
  ["'", "'"],
  ["\\", "\\"],
]);
