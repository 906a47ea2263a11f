/** Requests that Google's documents do not allow. `fail-on-violations.ts` fails the test that sent one. */
const found: string[] = [];

export const addViolations = (method: string, problems: readonly string[]): void => {
  found.push(...problems.map((problem) => `${method}: ${problem}`));
};

/** Returns the violations since the last call. A test calls it to allow, and to expect, the ones that it causes. */
export const takeViolations = (): readonly string[] => found.splice(0);
