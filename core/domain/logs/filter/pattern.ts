/** Regular expressions of a filter: RE2, https://github.com/google/re2/wiki/Syntax */

/**
 * Makes a pattern into a search in texts, or says what is wrong with it. The time of a search is linear in its text, so
 * that no client's pattern can hold the platform up; a JavaScript RegExp could be made to run for ever.
 */
export type CompilePattern = (pattern: string) => ((text: string) => boolean) | { readonly problem: string };

const MAX_PATTERN_BYTES = 1000;

/** Why a pattern cannot be used; undefined where it can. */
export const patternProblem = (compile: CompilePattern, pattern: string): string | undefined => {
  if (new TextEncoder().encode(pattern).length > MAX_PATTERN_BYTES)
    return `a regular expression of more than ${MAX_PATTERN_BYTES} bytes`;
  const compiled = compile(pattern);
  return typeof compiled === "function" ? undefined : compiled.problem;
};

/** The search of a pattern that was found good when its filter was parsed. */
export const searchOf = (compile: CompilePattern, pattern: string): ((text: string) => boolean) => {
  const compiled = compile(pattern);
  if (typeof compiled !== "function") throw new TypeError(`a filter has a pattern that is none: ${compiled.problem}`);
  return compiled;
};
