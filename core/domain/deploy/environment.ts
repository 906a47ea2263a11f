/** The environment variables that a deployment declares. Responses and logs must not contain their values. */

import { fieldLimits } from "../accounts/limits.ts";
import { readReference, type SecretReference, type SecretReferences } from "../secrets/references.ts";
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
 * Returns an issue for each variable in the field whose name is an alias, because the platform sets aliases itself.
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

/** The variables of an `env` field: those with a value, and those that refer to a secret. */
export interface DeclaredVariables {
  readonly env: Environment;
  readonly secrets: SecretReferences;
}

const nameIssues = (name: string): Issue[] => {
  if (isReserved(name)) return [issue([name], RESERVED, "value_error")];
  const rule = "a variable name must contain only letters, digits and '_' and must not start with a digit";
  return NAME.test(name) ? [] : [issue([name], rule, "string_pattern_mismatch")];
};

/** @returns the value, the reference, or the issues with paths relative to the variable */
const readVariable = (value: unknown): string | SecretReference | readonly Issue[] => {
  if (typeof value === "string")
    return value.includes("\0") ? [issue([], "must not contain a null byte", "value_error")] : value;
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    const rule = 'must be a string, or {"secret": NAME}; write numbers in quotes';
    return [issue([], rule, "string_type")];
  }
  return readReference(value).match<SecretReference | readonly Issue[]>(
    (reference) => reference,
    (issues) => issues,
  );
};

/** Returns the size of a value, or of a reference as JSON, in bytes. */
const sizeOf = (value: unknown): number => textBytes(typeof value === "string" ? value : (JSON.stringify(value) ?? ""));

/** Validates a parsed `env` field. Returns the variables, or no variables if the field has issues. */
export const readEnvironment = (raw: unknown): DeclaredVariables & { readonly issues: readonly Issue[] } => {
  const none = { env: {}, secrets: {} };
  if (typeof raw !== "object" || raw === null || Array.isArray(raw))
    return { ...none, issues: [issue([], 'must be an object such as {"LOG_LEVEL": "debug"}', "dict_type")] };
  const issues: Issue[] = [];
  const values: [string, string][] = [];
  const references: [string, SecretReference][] = [];
  const entries = Object.entries(raw);
  for (const [name, value] of entries) {
    issues.push(...nameIssues(name));
    const read = readVariable(value);
    if (typeof read === "string") values.push([name, read]);
    else if ("name" in read) references.push([name, read]);
    else issues.push(...read.map((one) => ({ ...one, path: [name, ...one.path] })));
  }
  const bytes = entries.reduce((sum, [name, value]) => sum + textBytes(name) + sizeOf(value) + 2, 0);
  if (bytes > fieldLimits.env.maxBytes)
    issues.push(issue([], `must be at most ${fieldLimits.env.maxBytes} bytes; got ${bytes}`, "too_large"));
  return issues.length > 0
    ? { ...none, issues }
    : { env: Object.fromEntries(values), secrets: Object.fromEntries(references), issues };
};
