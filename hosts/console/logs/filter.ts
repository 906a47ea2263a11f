/** The filter of the log page. */

/** The severities of the page's menu, which selects entries of at least that severity. */
export const minimumSeverities = ["INFO", "WARNING", "ERROR", "CRITICAL"] as const;

/** Returns the filter for the API, or undefined if every entry matches. */
export const combineFilter = (query: string, severity: string): string | undefined => {
  const parts = [query.trim() === "" ? "" : severity === "" ? query : `(${query})`];
  if (severity !== "") parts.push(`severity>=${severity}`);
  return parts.filter(Boolean).join(" AND ") || undefined;
};

const literal = (value: unknown): string => (typeof value === "string" ? JSON.stringify(value) : String(value));

const IDENTIFIER = /^[A-Za-z_][\w]*$/;

/** Returns a filter that also requires the value of a field of the entry's JSON. */
export const addField = (query: string, path: readonly string[], value: unknown): string => {
  const field = ["jsonPayload", ...path].map((part) => (IDENTIFIER.test(part) ? part : JSON.stringify(part))).join(".");
  const term = `${field}=${literal(value)}`;
  return query.trim() === "" ? term : `(${query.trim()}) AND ${term}`;
};

interface Issue {
  readonly field: string;
  readonly message: string;
}

export interface FilterProblem {
  readonly message: string;
  /** The index of the character at which parsing failed, if the message states it. */
  readonly at: number | undefined;
}

/** Returns the problem of a rejected filter, with a position in the text that the user typed. */
export const filterProblemOf = (
  issues: readonly Issue[],
  query: string,
  severity: string,
): FilterProblem | undefined => {
  const issue = issues.find(({ field }) => field === "query");
  if (issue === undefined) return undefined;
  const found = /^at position (\d+): ?(.*)$/s.exec(issue.message);
  if (found === null) return { message: issue.message, at: undefined };
  // `combineFilter` puts a parenthesis in front of the text. The position counts characters, not UTF-16 units.
  const position = Number(found[1]) - 1 - (severity !== "" && query.trim() !== "" ? 1 : 0);
  const at = [...query].slice(0, position).join("").length;
  return { message: found[2] as string, at: Math.min(at, query.length) };
};
