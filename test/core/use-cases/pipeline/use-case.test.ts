/** The pipeline: its stages run in order, and each may end the call. */
import { expect, test } from "vitest";
import { createMemoryProvider } from "../../../../adapters/memory/index.ts";
import { accountOf } from "../../../../core/domain/accounts/account.ts";
import { integerField } from "../../../../core/domain/wire/fields.ts";
import { issue } from "../../../../core/domain/wire/issue.ts";
import { forbidden, notFound } from "../../../../core/errors.ts";
import { err, ok } from "../../../../core/result.ts";
import { createContext } from "../../../../core/use-cases/pipeline/context.ts";
import { accountUseCase, bindUseCase, parsedUseCase, useCase } from "../../../../core/use-cases/pipeline/use-case.ts";

const context = createContext(createMemoryProvider().ports, {});
const bind = bindUseCase(context);
const principal = { account: accountOf("acme"), credentialId: "test" };
const number = (max: number) => integerField({ min: 0, max, default: 0 }, "A number.");
const unsupported = { supported: false, reason: "not here" } as const;

/** Fails at each stage that its request selects, and reports the stages that ran. */
const staged = () => {
  const stages: string[] = [];
  const run = bind(
    useCase({
      fields: { valid: number(1), allowed: number(1), offered: number(1) },
      check: ({ valid, allowed }) => {
        stages.push("check");
        return valid === 1 ? ok({ both: valid + (allowed ?? 0) }) : err([issue(["valid"], "must be 1", "value_error")]);
      },
      requires: ({ cron }) => {
        stages.push("requires");
        return cron.schedules;
      },
      authorize: ({ input: { allowed } }) => {
        stages.push("authorize");
        return allowed === 1 ? ok("the resource") : err(forbidden("not yours"));
      },
      run: ({ input: { both } }, resource) => {
        stages.push("run");
        return ok({ both, resource });
      },
    }),
  );
  return { run, stages };
};

test("a valid request passes every stage, and `run` gets the checked values and the resource", async () => {
  const { run, stages } = staged();
  expect(await run(principal, { valid: 1, allowed: 1 })).toEqual(ok({ both: 2, resource: "the resource" }));
  expect(stages).toEqual(["check", "requires", "authorize", "run"]);
});

test("an invalid request fails with the issues of its fields and of the check, before any other stage", async () => {
  const { run, stages } = staged();
  const error = (await run(principal, { valid: 0, allowed: 7, typo: 1 } as never))._unsafeUnwrapErr();
  expect(error).toMatchObject({
    kind: "invalid_input",
    issues: [{ path: ["typo"] }, { path: ["allowed"] }, { path: ["valid"] }],
  });
  expect(stages).toEqual(["check"]);
});

test("a principal who is not authorized does not reach `run`", async () => {
  const { run, stages } = staged();
  expect((await run(principal, { valid: 1 }))._unsafeUnwrapErr().kind).toBe("forbidden");
  expect(stages).toEqual(["check", "requires", "authorize"]);
});

test("a missing capability fails before the authorization", async () => {
  const useless = bind(
    accountUseCase({ requires: () => unsupported, authorize: () => err(notFound("no")), run: () => ok(1) }),
  );
  expect((await useless(principal))._unsafeUnwrapErr()).toMatchObject({ kind: "unsupported", message: "not here" });
});

test("passes on an input that is already parsed", async () => {
  const double = bind(parsedUseCase({ run: ({ input }: { readonly input: number }) => ok(input * 2) }));
  expect(await double(principal, 21)).toEqual(ok(42));
});
