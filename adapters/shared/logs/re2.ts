/** RE2 regular expressions, searched in linear time by re2js: https://github.com/google/re2/wiki/Syntax */
import { RE2JS } from "re2js";
import type { CompilePattern } from "../../../core/domain/logs/filter/pattern.ts";

/**
 * Maximum program steps of a pattern. A search is linear in the text, but each character may cost one pass over the
 * whole program if the automaton has too many states to cache. Above this bound, a line of 256 KiB could take more than
 * a second.
 */
const MAX_STEPS = 100;

/**
 * Plain words and alternatives without repetitions or character classes. They need few states, so the bound does not
 * apply.
 */
const PLAIN = /^(?:\(\?i\))?(?:[^\\.[*+?{]|\(\?:|\\[^\p{L}\p{N}])*$/u;

const tooLong = (pattern: string, steps: number): boolean => steps > MAX_STEPS && !PLAIN.test(pattern);

export const compileRe2: CompilePattern = (pattern) => {
  try {
    const compiled = RE2JS.compile(pattern);
    const steps = compiled.programSize();
    if (tooLong(pattern, steps))
      return {
        problem: `too long: unfolded it has ${steps} steps, and ${MAX_STEPS} are allowed; use smaller counts, or * and +`,
      };
    // Without groups, re2js uses its automaton, which takes a hundredth of the time.
    return (text) => compiled.test(text);
  } catch (error) {
    return { problem: `not a regular expression of RE2: ${(error as Error).message}` };
  }
};
