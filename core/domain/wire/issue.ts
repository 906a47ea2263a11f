/**
 * One broken rule of a request: the field, the problem and the fix.
 *
 * `path` locates the field in the request. The HTTP API returns the path as `loc`, with the prefix `body`, `query`,
 * `header` or `path`, as FastAPI does.
 */
import type { z } from "zod";
import { closest } from "./closest.ts";

/** The stable codes of broken rules. A client may switch on them. */
export const issueTypes = [
  "missing",
  "extra_forbidden",
  "string_type",
  "string_too_short",
  "string_too_long",
  "string_pattern_mismatch",
  "int_parsing",
  "bool_parsing",
  "datetime_parsing",
  "dict_type",
  "greater_than_equal",
  "less_than_equal",
  "json_invalid",
  "value_error",
  "too_large",
  "archive_invalid",
  "quota_exceeded",
  "unsupported",
] as const;

/** The code of a broken rule. */
export type IssueType = (typeof issueTypes)[number];

/** A broken rule of a request. */
export interface Issue {
  readonly path: readonly (string | number)[];
  readonly message: string;
  readonly type: IssueType;
}

/** Creates an issue. `message` states the rule and the fix, without the field's name. */
export const issue = (path: readonly (string | number)[], message: string, type: IssueType): Issue => ({
  path,
  message,
  type,
});

/** Returns the issue for an unknown field, suggesting a known field with a similar name. */
export const unknownField = (path: readonly (string | number)[], name: string, known: readonly string[]): Issue => {
  const near = closest(name, known);
  const hint = near === undefined ? `the fields are ${known.join(", ")}` : `did you mean '${near}'?`;
  return issue([...path, name], `unknown field '${name}'; ${hint}`, "extra_forbidden");
};

/** Returns a custom zod issue with an issue type, for `ctx.addIssue`. */
export const custom = (message: string, type: IssueType, path: (string | number)[] = []) => ({
  code: "custom" as const,
  message,
  path,
  params: { type },
});

const sizeWord = (origin: string, small: boolean): IssueType =>
  origin === "string"
    ? small
      ? "string_too_short"
      : "string_too_long"
    : small
      ? "greater_than_equal"
      : "less_than_equal";

const typeWords: Readonly<Record<string, IssueType>> = {
  int: "int_parsing",
  number: "int_parsing",
  boolean: "bool_parsing",
  object: "dict_type",
  record: "dict_type",
};

const wordOf = (raw: z.core.$ZodIssue): IssueType => {
  switch (raw.code) {
    case "invalid_type":
      return raw.input === undefined ? "missing" : (typeWords[raw.expected] ?? "string_type");
    case "too_small":
      return sizeWord(raw.origin, true);
    case "too_big":
      return sizeWord(raw.origin, false);
    case "invalid_format":
      return "string_pattern_mismatch";
    case "custom":
      return (raw.params?.["type"] as IssueType | undefined) ?? "value_error";
    default:
      return "value_error";
  }
};

/**
 * Converts zod's issues to issues of a request. The caller must parse with `reportInput: true`, because otherwise a
 * missing field looks like a field of the wrong type.
 */
export const issuesOf = (error: z.core.$ZodError, known: readonly string[] = []): Issue[] =>
  error.issues.flatMap((raw) => {
    const path = raw.path.map((part) => (typeof part === "symbol" ? String(part) : part));
    if (raw.code === "unrecognized_keys") return raw.keys.map((key) => unknownField(path, key, known));
    const missing = raw.code === "invalid_type" && raw.input === undefined;
    return [issue(path, missing ? "is required" : raw.message, wordOf(raw))];
  });
