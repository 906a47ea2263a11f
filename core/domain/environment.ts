/** The environment that a deployment declares for its service. Values are secrets: they are never shown. */
import { type Issue, issue } from "./issue.ts";
import { fieldLimits } from "./limits.ts";

export type Environment = Readonly<Record<string, string>>;

/** True for names that the platform sets itself (contract 4.1). */
const isReserved = (name: string): boolean =>
  name === "PORT" || name === "CRON_TOKEN" || name.startsWith("K_") || name.startsWith("PORTSIDE_");

const textBytes = (text: string): number => new TextEncoder().encode(text).length;

export const readEnvironment = (raw: unknown): { readonly env: Environment; readonly issues: readonly Issue[] } => {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw))
    return { env: {}, issues: [issue([], 'must be an object such as {"LOG_LEVEL": "debug"}', "dict_type")] };
  const issues: Issue[] = [];
  const entries = Object.entries(raw);
  for (const [name, value] of entries) {
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(name))
      issues.push(
        issue([name], "a name has letters, digits and '_' and does not start with a digit", "string_pattern_mismatch"),
      );
    else if (isReserved(name)) issues.push(issue([name], "is set by the platform; choose another name", "value_error"));
    if (typeof value !== "string") issues.push(issue([name], "must be a text; write numbers in quotes", "string_type"));
    else if (value.includes("\0")) issues.push(issue([name], "has a null byte", "value_error"));
  }
  const sizeOf = (value: unknown) => (typeof value === "string" ? textBytes(value) : 0);
  const bytes = entries.reduce((sum, [name, value]) => sum + textBytes(name) + sizeOf(value) + 2, 0);
  if (bytes > fieldLimits.env.maxBytes)
    issues.push(issue([], `is ${bytes} bytes; at most ${fieldLimits.env.maxBytes}`, "too_large"));
  return { env: issues.length > 0 ? {} : Object.fromEntries(entries as [string, string][]), issues };
};
