/** How a change of variables merges with the present ones. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  changeEnvironment,
  describeEnvironmentChange,
  environmentChangeIssues,
} from "../../../../../core/domain/deploy/releases/change-environment.ts";

const name = fc.constantFrom("A", "B", "C", "D").map(String);
const environment = fc.dictionary(name, fc.string(), { noNullPrototype: true });

describe("a change of variables", () => {
  test("sets what it sets, removes what it removes, and keeps the others", () => {
    const change = fc.record({ set: environment, unset: fc.uniqueArray(name) });
    fc.assert(
      fc.property(environment, change, (env, { set, unset }) => {
        const removed = unset.filter((one) => one in env && !(one in set));
        const changed = changeEnvironment(env, { set, unset: removed })._unsafeUnwrap();
        for (const one of ["A", "B", "C", "D"])
          expect(changed[one]).toBe(one in set ? set[one] : removed.includes(one) ? undefined : env[one]);
      }),
    );
  });

  test("must not remove a variable that is not set, because its name may be a typo", () => {
    const issues = changeEnvironment({ LEVEL: "1" }, { set: {}, unset: ["LEVEL", "LEVLE"] })._unsafeUnwrapErr();
    expect(issues).toEqual([{ path: ["unset", 1], message: "the variable 'LEVLE' is not set", type: "value_error" }]);
  });

  test("must name a variable, and none of them twice", () => {
    expect(environmentChangeIssues({ set: {}, unset: [] })).toMatchObject([{ path: ["set"], type: "missing" }]);
    expect(environmentChangeIssues({ set: { A: "1" }, unset: ["B", "A"] })).toMatchObject([
      { path: ["unset", 1], type: "value_error" },
    ]);
    expect(environmentChangeIssues({ set: { A: "1" }, unset: ["B"] })).toEqual([]);
  });
});

test("the message of the release has the names without the values, in at most 200 characters", () => {
  expect(describeEnvironmentChange({ set: { A: "s3cret", B: "2" }, unset: ["C"] })).toBe("Set A, B; Unset C");
  const many = Object.fromEntries(Array.from({ length: 100 }, (_, index) => [`NAME_${index}`, ""]));
  expect(describeEnvironmentChange({ set: many, unset: [] })).toHaveLength(200);
});
