/** The problem of a rejected statement, with its position in the text. */

interface Issue {
  readonly field: string;
  readonly message: string;
}

export interface SqlProblem {
  readonly message: string;
  /** The index of the character with the problem, if the message states a line and a column. */
  readonly at: number | undefined;
}

/** Returns the problem of the statement; undefined if the error does not concern it. */
export const sqlProblemOf = (issues: readonly Issue[], query: string): SqlProblem | undefined => {
  const issue = issues.find(({ field }) => field === "query");
  if (issue === undefined) return undefined;
  const found = / at line (\d+), column (\d+)/.exec(issue.message);
  if (found === null) return { message: issue.message, at: undefined };
  const lines = query.split("\n");
  const line = Math.min(Number(found[1]), lines.length);
  const start = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  return { message: issue.message, at: Math.min(start + Number(found[2]) - 1, query.length) };
};
