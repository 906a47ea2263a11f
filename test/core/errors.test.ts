/** The error union as data: every kind has a constructor, a meaning and a retry hint. */
import { describe, expect, test } from "vitest";
import { issue } from "../../core/domain/wire/issue.ts";
import {
  type ControlPlaneError,
  conflict,
  type ErrorKind,
  errorKinds,
  forbidden,
  type Internal,
  internal,
  invalidInput,
  notFound,
  rateLimited,
  unauthenticated,
  unavailable,
  unsupported,
} from "../../core/errors.ts";
import { err, ok } from "../../core/result.ts";
import { catchBugs } from "../../core/use-cases/pipeline/catch-bugs.ts";

const makers: { readonly [K in ErrorKind]: (message: string) => Extract<ControlPlaneError, { kind: K }> } = {
  invalid_input: (message) => invalidInput([issue(["field"], message, "value_error")]),
  unauthenticated,
  forbidden,
  not_found: notFound,
  conflict,
  rate_limited: (message) => rateLimited(message, 3),
  unsupported,
  unavailable,
  internal,
};

test.each(Object.keys(errorKinds) as ErrorKind[])("%s comes from its constructor and survives JSON", (kind) => {
  const made = makers[kind]("what is wrong");
  expect(made.kind).toBe(kind);
  expect(made.message).toContain("what is wrong");
  expect(JSON.parse(JSON.stringify(made))).toMatchObject({ kind, message: made.message });
  expect(errorKinds[kind].meaning).toMatch(/\.$/);
});

test("exactly the retryable kinds state when to retry", () => {
  const retryable = (Object.keys(errorKinds) as ErrorKind[]).filter((kind) => errorKinds[kind].retryable);
  const timed = (Object.keys(makers) as ErrorKind[]).filter((kind) => "retryAfterSeconds" in makers[kind]("x"));
  expect(timed.sort()).toEqual(retryable.sort());
});

test("invalid input has a one-line form", () => {
  const issues = [issue(["port"], "too high", "less_than_equal"), issue(["volumes", "/a"], "odd", "value_error")];
  expect(invalidInput(issues)).toEqual({ kind: "invalid_input", message: "port: too high; volumes./a: odd", issues });
  expect(invalidInput([issue([], "must be a JSON object", "dict_type")]).message).toBe(
    "request: must be a JSON object",
  );
});

describe("catchBugs", () => {
  test("passes results through", async () => {
    expect(await catchBugs(async () => ok(5))).toEqual(ok(5));
    expect(await catchBugs(async () => err(conflict("no")))).toEqual(err(conflict("no")));
  });

  test("an exception becomes internal, with its cause for the log", async () => {
    const cause = new Error("oops");
    const failed = await catchBugs<never, Internal>(async () => {
      throw cause;
    });
    const bug = failed._unsafeUnwrapErr();
    expect(bug).toMatchObject({ kind: "internal", cause });
    expect(bug.message).not.toContain("oops");
  });
});
