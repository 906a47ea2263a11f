/** RE2 regular expressions, searched in linear time by re2js: https://github.com/google/re2/wiki/Syntax */
import { RE2JS } from "re2js";
import type { CompilePattern } from "../../../core/domain/logs/filter/pattern.ts";

/**
 * Maximum steps of a compiled pattern. A search is linear in the length of the text, but if the automaton has too many
 * states to cache, each character may cost one pass over all steps. Above this bound, a line of 256 KiB could take more
 * than a second.
 */
const MAX_STEPS = 100;

/**
 * Matches patterns of literal text and alternatives, without repetitions or character classes. Such patterns need few
 * states, so the bound does not apply to them.
 */
const PLAIN = /^(?:\(\?i\))?(?:[^\\.[*+?{]|\(\?:|\\[^\p{L}\p{N}])*$/u;

const tooLong = (pattern: string, steps: number): boolean => steps > MAX_STEPS && !PLAIN.test(pattern);

export const compileRe2: CompilePattern = (pattern) => {
  try {
    const compiled = RE2JS.compile(pattern);
    const steps = compiled.programSize();
    if (tooLong(pattern, steps))
      return {
        problem: `too long: it expands to ${steps} steps, above the limit of ${MAX_STEPS}; use smaller counts, or * and +`,
      };
    // `test` captures no groups, so re2js can use its automaton, which is a hundred times faster.
    return (text) => compiled.test(text);
  } catch (error) {
    return { problem: `not a valid RE2 regular expression: ${(error as Error).message}` };
  }
};
