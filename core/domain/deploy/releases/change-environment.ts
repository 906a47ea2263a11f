/** A change to some variables of a deployment. The other variables keep their values. */
import { err, ok, type Result } from "../../../result.ts";
import { releaseLimits } from "../../accounts/limits.ts";
import { type Issue, issue } from "../../wire/issue.ts";
import type { Environment } from "../environment.ts";

/** The variables to set, and the names of those to remove. */
export interface EnvironmentChange {
  readonly set: Environment;
  readonly unset: readonly string[];
}

/** Returns the issues that a change has for every deployment. */
export const environmentChangeIssues = ({ set, unset }: EnvironmentChange): readonly Issue[] => {
  if (Object.keys(set).length === 0 && unset.length === 0)
    return [issue(["set"], "name at least one variable in set or unset", "missing")];
  return unset.flatMap((name, index) =>
    Object.hasOwn(set, name)
      ? [issue(["unset", index], `'${name}' is also in set; remove it from one`, "value_error")]
      : [],
  );
};

/** Returns the changed environment. Fails if the change removes a variable that is not set. */
export const changeEnvironment = (
  env: Environment,
  { set, unset }: EnvironmentChange,
): Result<Environment, readonly Issue[]> => {
  const unknown = unset.flatMap((name, index) =>
    Object.hasOwn(env, name) ? [] : [issue(["unset", index], `the variable '${name}' is not set`, "value_error")],
  );
  if (unknown.length > 0) return err(unknown);
  const kept = Object.entries(env).filter(([name]) => !unset.includes(name));
  return ok(Object.fromEntries([...kept, ...Object.entries(set)]));
};

/** Returns the message of the release that a change creates: the names of the variables, without their values. */
export const describeEnvironmentChange = ({ set, unset }: EnvironmentChange): string => {
  const names = Object.keys(set);
  const text = [
    ...(names.length === 0 ? [] : [`Set ${names.join(", ")}`]),
    ...(unset.length === 0 ? [] : [`Unset ${unset.join(", ")}`]),
  ].join("; ");
  const max = releaseLimits.messageChars;
  return text.length <= max ? text : `${text.slice(0, max - 1)}…`;
};
