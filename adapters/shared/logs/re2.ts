/** RE2 regular expressions: https://github.com/google/re2/wiki/Syntax, by re2js, which searches in linear time. */
import { RE2JS } from "re2js";
import type { CompilePattern } from "../../../core/domain/logs/filter/pattern.ts";

/**
 * Linear in the text, a search may still take the pattern's whole program for each letter: so it is where the automaton
 * has too many states to be kept. With more steps, a line of 256 KiB could take more than a second.
 */
const MOST_STEPS = 100;

/** Words and alternatives, where nothing repeats and nothing stands for several letters: these have few states. */
const PLAIN = /^(?:\(\?i\))?(?:[^\\.[*+?{]|\(\?:|\\[^\p{L}\p{N}])*$/u;

const tooLong = (pattern: string, steps: number): boolean => steps > MOST_STEPS && !PLAIN.test(pattern);

export const compileRe2: CompilePattern = (pattern) => {
  try {
    const compiled = RE2JS.compile(pattern);
    const steps = compiled.programSize();
    if (tooLong(pattern, steps))
      return {
        problem: `too long: unfolded it has ${steps} steps, and ${MOST_STEPS} are allowed; use smaller counts, or * and +`,
      };
    // Without groups re2js takes its automaton, and a hundredth of the time.
    return (text) => compiled.test(text);
  } catch (error) {
    return { problem: `not a regular expression of RE2: ${(error as Error).message}` };
  }
};
