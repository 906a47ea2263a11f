/** Requests that Google's documents do not allow. `fail-on-violations.ts` fails the test that sent one. */
const found: string[] = [];

export const addViolations = (method: string, problems: readonly string[]): void => {
  found.push(...problems.map((problem) => `${method}: ${problem}`));
};

/** Returns and clears the violations. A test that causes violations on purpose must call it, or the test fails. */
export const takeViolations = (): readonly string[] => found.splice(0);
