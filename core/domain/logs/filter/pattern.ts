/** Regular expressions in filters, in the RE2 syntax: https://github.com/google/re2/wiki/Syntax */

/**
 * Compiles a pattern to a search function, or returns a problem. A search must take linear time in the length of its
 * text, so that no client's pattern can block the platform. A JavaScript RegExp can take exponential time.
 */
export type CompilePattern = (pattern: string) => ((text: string) => boolean) | { readonly problem: string };

const MAX_PATTERN_BYTES = 1000;

/** Returns why a pattern is invalid or too long, or undefined if it is valid. */
export const patternProblem = (compile: CompilePattern, pattern: string): string | undefined => {
  if (new TextEncoder().encode(pattern).length > MAX_PATTERN_BYTES)
    return `a regular expression must be at most ${MAX_PATTERN_BYTES} bytes`;
  const compiled = compile(pattern);
  return typeof compiled === "function" ? undefined : compiled.problem;
};

/** Compiles a pattern that the parser has validated. Throws a TypeError if it is invalid. */
export const searchOf = (compile: CompilePattern, pattern: string): ((text: string) => boolean) => {
  const compiled = compile(pattern);
  if (typeof compiled !== "function") throw new TypeError(`the filter has an invalid pattern: ${compiled.problem}`);
  return compiled;
};
