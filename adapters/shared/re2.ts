/** RE2 regular expressions: https://github.com/google/re2/wiki/Syntax, by re2js, which searches in linear time. */
import { RE2JS } from "re2js";
import type { CompilePattern } from "../../core/domain/log-filter/pattern.ts";

/**
 * Linear in the text, a search may still take the pattern's whole program for each letter. Counted repeats make long
 * programs out of short patterns; beyond this, a line of 256 KiB would take seconds.
 */
const UNFOLDED_STEPS = 300;

export const compileRe2: CompilePattern = (pattern) => {
  try {
    const compiled = RE2JS.compile(pattern);
    if (compiled.programSize() > 2 * pattern.length + UNFOLDED_STEPS)
      return {
        problem: `repeats too much: unfolded it has ${compiled.programSize()} steps; use smaller counts, or * and +`,
      };
    return (text) => compiled.matcher(text).find();
  } catch (error) {
    return { problem: `not a regular expression of RE2: ${(error as Error).message}` };
  }
};
