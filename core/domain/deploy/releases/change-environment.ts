/** A change to some variables of a deployment. The other variables keep their values. */
import { err, ok, type Result } from "../../../result.ts";
import { releaseLimits } from "../../accounts/limits.ts";
import { type Issue, issue } from "../../wire/issue.ts";
import type { DeclaredVariables } from "../environment.ts";

/** The variables to set, and the names of those to remove. */
export interface EnvironmentChange {
  readonly set: DeclaredVariables;
  readonly unset: readonly string[];
}

const namesOf = ({ env, secrets }: DeclaredVariables): string[] => [...Object.keys(env), ...Object.keys(secrets)];

/** Returns the issues of a change that do not depend on the deployment. */
export const environmentChangeIssues = ({ set, unset }: EnvironmentChange): readonly Issue[] => {
  const names = namesOf(set);
  if (names.length === 0 && unset.length === 0)
    return [issue(["set"], "name at least one variable in set or unset", "missing")];
  return unset.flatMap((name, index) =>
    names.includes(name)
      ? [issue(["unset", index], `'${name}' is also in set; remove it from one`, "value_error")]
      : [],
  );
};

/** Returns the changed variables. Fails if the change removes a variable that is not set. */
export const changeEnvironment = (
  variables: DeclaredVariables,
  { set, unset }: EnvironmentChange,
): Result<DeclaredVariables, readonly Issue[]> => {
  const present = namesOf(variables);
  const unknown = unset.flatMap((name, index) =>
    present.includes(name) ? [] : [issue(["unset", index], `the variable '${name}' is not set`, "value_error")],
  );
  if (unknown.length > 0) return err(unknown);
  // A reference to a secret may replace a value, and vice versa.
  const changed = new Set([...unset, ...namesOf(set)]);
  const keep = <T>(all: Readonly<Record<string, T>>) => Object.entries(all).filter(([name]) => !changed.has(name));
  return ok({
    env: Object.fromEntries([...keep(variables.env), ...Object.entries(set.env)]),
    secrets: Object.fromEntries([...keep(variables.secrets), ...Object.entries(set.secrets)]),
  });
};

/** Returns the message of the release that a change creates: the names of the variables, without their values. */
export const describeEnvironmentChange = ({ set, unset }: EnvironmentChange): string => {
  const names = namesOf(set);
  const text = [
    ...(names.length === 0 ? [] : [`Set ${names.join(", ")}`]),
    ...(unset.length === 0 ? [] : [`Unset ${unset.join(", ")}`]),
  ].join("; ");
  const max = releaseLimits.messageChars;
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`;
};
