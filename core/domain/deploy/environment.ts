/** The environment variables that a deployment declares. Responses and logs must not contain their values. */

import { fieldLimits } from "../accounts/limits.ts";
import { type Issue, issue } from "../wire/issue.ts";
import { parseStrictJson } from "../wire/strict-json.ts";

/** Environment variables by name. The values are secrets. */
export type Environment = Readonly<Record<string, string>>;

/** Returns whether a name is reserved for variables that the platform sets. */
const isReserved = (name: string): boolean =>
  name === "PORT" || name === "CRON_TOKEN" || name.startsWith("K_") || name.startsWith("PORTSIDE_");

/** Platform variables that may have aliases. Only these have the same meaning on every provider. */
const aliasable = ["PORT", "CRON_TOKEN", "PORTSIDE_VOLUMES"] as const;

/** Aliases for platform variables: `{"OTHER_TOKEN": "CRON_TOKEN"}`. Services see both names. */
export type EnvAliases = Readonly<Record<string, string>>;

const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** Returns the rule that the aliases break, as a message, or undefined if they are valid. */
export const envAliasesProblem = (aliases: EnvAliases): string | undefined => {
  for (const [alias, name] of Object.entries(aliases)) {
    if (!NAME.test(alias))
      return `the alias '${alias}' is not a valid variable name: use letters, digits and '_', and do not start with a digit`;
    if (isReserved(alias)) return `the alias '${alias}' is reserved for the platform; choose another`;
    if (!(aliasable as readonly string[]).includes(name))
      return `the alias '${alias}' refers to '${name}'; it must refer to one of ${aliasable.join(", ")}`;
  }
  return undefined;
};

/** Adds the aliases to the platform's variables. Skips aliases of variables that are not set. */
export const withAliases = (
  variables: Readonly<Record<string, string>>,
  aliases: EnvAliases = {},
): Readonly<Record<string, string>> => ({
  ...variables,
  ...Object.fromEntries(
    Object.entries(aliases).flatMap(([alias, name]) => {
      const value = Object.hasOwn(variables, name) ? variables[name] : undefined;
      return value === undefined ? [] : [[alias, value]];
    }),
  ),
});

const RESERVED = "is set by the platform; choose another name";

/**
 * Returns an issue for each name in a field of variables that is an alias, because the platform sets aliases.
 * @param raw the field as sent; it may break other rules too
 */
export const aliasIssues = (raw: unknown, aliases: EnvAliases, field: string): readonly Issue[] => {
  const json = typeof raw === "string" ? parseStrictJson(raw) : ({ ok: true, value: raw } as const);
  const names = json.ok && typeof json.value === "object" && json.value !== null ? Object.keys(json.value) : [];
  return names
    .filter((name) => Object.hasOwn(aliases, name))
    .map((name) => issue([field, name], RESERVED, "value_error"));
};

const textBytes = (text: string): number => new TextEncoder().encode(text).length;

/** Validates a parsed `env` field. Returns the variables, or none if there are issues. */
export const readEnvironment = (raw: unknown): { readonly env: Environment; readonly issues: readonly Issue[] } => {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw))
    return { env: {}, issues: [issue([], 'must be an object such as {"LOG_LEVEL": "debug"}', "dict_type")] };
  const issues: Issue[] = [];
  const entries = Object.entries(raw);
  for (const [name, value] of entries) {
    if (!NAME.test(name))
      issues.push(
        issue(
          [name],
          "a variable name must contain only letters, digits and '_' and must not start with a digit",
          "string_pattern_mismatch",
        ),
      );
    else if (isReserved(name)) issues.push(issue([name], RESERVED, "value_error"));
    if (typeof value !== "string")
      issues.push(issue([name], "must be a string; write numbers in quotes", "string_type"));
    else if (value.includes("\0")) issues.push(issue([name], "must not contain a null byte", "value_error"));
  }
  const sizeOf = (value: unknown) => (typeof value === "string" ? textBytes(value) : 0);
  const bytes = entries.reduce((sum, [name, value]) => sum + textBytes(name) + sizeOf(value) + 2, 0);
  if (bytes > fieldLimits.env.maxBytes)
    issues.push(issue([], `must be at most ${fieldLimits.env.maxBytes} bytes; got ${bytes}`, "too_large"));
  return { env: issues.length > 0 ? {} : Object.fromEntries(entries as [string, string][]), issues };
};
