/** Policies run in order, each on the result of those before it; all vetoes and broken rules are returned together. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { AccountId, Principal } from "../../../../core/domain/accounts/account.ts";
import { GiB, MiB } from "../../../../core/domain/accounts/limits.ts";
import { type DeployDeclaration, declareDeploy } from "../../../../core/domain/deploy/declaration.ts";
import {
  adjust,
  applyPolicies,
  type Policy,
  type PolicyQuestion,
  veto,
} from "../../../../core/domain/deploy/policy.ts";
import { writtenFields } from "../../../../core/domain/deploy/service-template.ts";
import type { Issue } from "../../../../core/domain/wire/issue.ts";
import { cloudRunLikeCatalogue, deployRequest } from "../../../arbitraries/index.ts";
import { capabilitiesWith } from "../../../support/providers/capabilities.ts";
import { runs } from "../../../support/vitest/runs.ts";

const capabilities = capabilitiesWith(cloudRunLikeCatalogue);
const principal: Principal = { account: "acme" as AccountId, credentialId: "test" };
const declared = (fields: Readonly<Record<string, unknown>> = {}): DeployDeclaration =>
  declareDeploy(
    { function_name: "app", volumes: {}, ...fields },
    { capabilities, sourceOptional: true },
  )._unsafeUnwrap();
const question = (declaration = declared()): PolicyQuestion => ({ declaration, current: null, principal });
const rule = (policies: readonly Policy[], asked = question()) => applyPolicies(policies, asked, { capabilities });
const issuesOf = (policies: readonly Policy[], asked = question()) =>
  rule(policies, asked)._unsafeUnwrapErr() as readonly Issue[];
const policy = (name: string, judge: Policy["judge"]): Policy => ({ name, judge });

const readOnly = policy("read-only", ({ declaration }) =>
  declaration.mounts.some((mount) => !mount.readOnly) ? [veto("volumes", "must be read_only here")] : [],
);

test("no policies: the declaration is unchanged", () => {
  const asked = question();
  expect(rule([], asked)._unsafeUnwrap()).toEqual({ declaration: asked.declaration, adjustments: [] });
});

test("a veto names the field, the reason and the policy", () => {
  const asked = question(declared({ volumes: { "/data": "data" } }));
  expect(rule([readOnly], asked)._unsafeUnwrapErr()).toEqual([
    { path: ["volumes"], message: "must be read_only here (policy 'read-only')", type: "value_error" },
  ]);
});

test.each([
  ["an error", new TypeError("no such field"), "no such field"],
  ["a value that is not an Error", "no such field", "no such field"],
])("a policy that throws %s fails with a message that names it", (_what, cause, words) => {
  const broken = policy("careless", () => {
    throw cause;
  });
  expect(rule([broken])._unsafeUnwrapErr()).toEqual({
    kind: "internal",
    message: `Policy 'careless' failed: ${words}`,
    cause,
  });
});

test.each([
  ["a value of the wrong type", "memory", "512Mi"],
  ["the name", "name", "other"],
  ["the environment", "env", {}],
  ["the minimum number of instances", "minInstances", 1],
  ["the health check", "health", null],
  ["the idle mode", "idle", "stop"],
  ["a field by its wire name", "max_instances", 3],
  ["a name that every object inherits", "toString", () => "x"],
])("rejects %s as an adjustment and names the policy", (_what, field, value) => {
  const wrong = policy("careless", () => [adjust(field as never, value as never, "changed")]);
  expect(rule([wrong])._unsafeUnwrapErr()).toMatchObject({
    kind: "internal",
    message: `Policy 'careless' failed: it made an invalid change to '${field}'`,
  });
});

test.each([[null], [undefined]])("a policy that returns %s changes and rejects nothing", (rulings) => {
  const asked = question();
  expect(rule([policy("silent", () => rulings), readOnly], asked)._unsafeUnwrap()).toEqual({
    declaration: asked.declaration,
    adjustments: [],
  });
});

test("rejects a promise of rulings", () => {
  const late = policy("late", (async () => []) as never);
  expect(rule([late])._unsafeUnwrapErr()).toMatchObject({
    kind: "internal",
    message: "Policy 'late' failed: it did not return a list of rulings",
  });
});

test("reports an adjustment with both values in wire format", () => {
  const less = policy("small", () => [adjust("memory", 512 * MiB, "Memory lowered to 512Mi")]);
  const { declaration, adjustments } = rule([less])._unsafeUnwrap();
  expect(declaration.memory).toBe(512 * MiB);
  expect(adjustments).toEqual([
    { field: "memory", from: "1Gi", to: "512Mi", message: "Memory lowered to 512Mi (policy 'small')" },
  ]);
});

test("ignores an adjustment to the declared value", () => {
  expect(rule([policy("same", () => [adjust("memory", GiB, "1Gi for all")])])._unsafeUnwrap().adjustments).toEqual([]);
});

test("each policy receives the adjustments of the policies before it", () => {
  const seen: number[] = [];
  const double = policy("double", ({ declaration: { timeout } }) => {
    seen.push(timeout);
    return [adjust("timeout", timeout * 2, "twice the time")];
  });
  expect(rule([double, double], question(declared({ timeout: 100 })))._unsafeUnwrap().declaration.timeout).toBe(400);
  expect(seen).toEqual([100, 200]);
});

test("applies several rulings of one policy in order; the last one of a field counts", () => {
  const both = policy("both", () => [adjust("port", 81, "81"), adjust("port", 82, "82")]);
  const { declaration, adjustments } = rule([both])._unsafeUnwrap();
  expect(declaration.port).toBe(82);
  expect(adjustments.map(({ from, to }) => [from, to])).toEqual([
    ["8080", "81"],
    ["81", "82"],
  ]);
});

test("returns every veto of every policy", () => {
  const never = policy("never", () => [veto("port", "no"), veto("env", "no")]);
  expect(issuesOf([never, readOnly], question(declared({ volumes: { "/d": "d" } }))).map(({ path }) => path)).toEqual([
    ["port"],
    ["env"],
    ["volumes"],
  ]);
});

test("rejects a value that no client could declare, and names the policy that set it", () => {
  const huge = policy("huge", () => [adjust("memory", 1024 * GiB, "a lot"), adjust("port", 0, "none")]);
  const issues = issuesOf([huge]);
  expect(issues.map(({ path }) => path)).toContainEqual(["memory"]);
  expect(issues.map(({ path }) => path)).toContainEqual(["port"]);
  for (const { message } of issues) expect(message).toContain("(policy 'huge')");
});

test("passes the current service and the caller to the policy", () => {
  const asked: PolicyQuestion[] = [];
  const keep = policy("keep", (one) => {
    asked.push(one);
    return [];
  });
  const { minInstances: _min, health: _health, idle: _idle, ...declaredFields } = declared();
  const current = { ...declaredFields, owner: principal.account, env: {} };
  expect(rule([keep], { declaration: declared(), current, principal }).isOk()).toBe(true);
  expect(asked).toEqual([{ declaration: declared(), current, principal }]);
});

describe("for any declaration", () => {
  const declaration = deployRequest(cloudRunLikeCatalogue).map(({ declares }): DeployDeclaration => declares);

  test("policies that change nothing reject nothing", () => {
    fc.assert(
      fc.property(declaration, (declares) => {
        const same = policy("same", ({ declaration: { timeout } }) => [adjust("timeout", timeout, "unchanged")]);
        expect(rule([same], question(declares))._unsafeUnwrap()).toEqual({ declaration: declares, adjustments: [] });
      }),
      runs(200),
    );
  });

  test("the adjustments, applied in order, lead from the declaration to the deployed values", () => {
    const change = fc.oneof(
      fc.integer({ min: 1, max: 65_535 }).map((value) => adjust("port", value, "port")),
      fc.integer({ min: 1, max: 3600 }).map((value) => adjust("timeout", value, "timeout")),
      fc.boolean().map((value) => adjust("sessionAffinity", value, "affinity")),
      fc.constant(adjust("mounts", [], "no storage")),
      fc.constant(adjust("schedule", null, "no schedule")),
    );
    const policies = fc
      .array(fc.array(change, { maxLength: 3 }), { maxLength: 4 })
      .map((all) => all.map((rulings, n) => policy(`p${n}`, () => rulings)));
    fc.assert(
      fc.property(declaration, policies, (declares, all) => {
        const ruled = rule(all, question(declares))._unsafeUnwrap();
        const asText = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value));
        const fields = Object.fromEntries(
          Object.entries(writtenFields(declares)).map(([name, value]) => [name, asText(value)]),
        );
        for (const { field, from, to } of ruled.adjustments) {
          expect(fields[field]).toBe(from);
          fields[field] = to;
        }
        const after = Object.entries(writtenFields(ruled.declaration)).map(([name, value]) => [name, asText(value)]);
        expect(fields).toEqual(Object.fromEntries(after));
      }),
      runs(200),
    );
  });
});
