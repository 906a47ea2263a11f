/** Policies of a control plane: a veto rejects the deploy; an adjustment appears in the plan and the stream. */
import { expect, test } from "vitest";
import type { DeployRun } from "../../../../core/control-plane.ts";
import { MiB } from "../../../../core/domain/accounts/limits.ts";
import { adjust, type Policy, veto } from "../../../../core/domain/deploy/policy.ts";
import { whileTicking } from "../../../simulation/ticking.ts";
import { deployed, listed, recordsOf, recordTexts, startMemory } from "../../../support/providers/memory-platform.ts";

const fields = { function_name: "app", volumes: {} };
const small: Policy = {
  name: "small",
  judge: ({ declaration: { memory } }) =>
    memory > 512 * MiB ? [adjust("memory", 512 * MiB, "Memory lowered to 512Mi")] : [],
};
const owned: Policy = {
  name: "owned",
  judge: ({ declaration, principal }) =>
    declaration.name.startsWith(`${principal.account}-`)
      ? []
      : [veto("function_name", `must begin with '${principal.account}-'`)],
};

test("a veto rejects plan and deploy, and changes nothing", async () => {
  const platform = startMemory({ settings: { policies: [owned] } });
  const before = platform.memory.snapshot();
  const refusal = {
    kind: "invalid_input",
    issues: [{ path: ["function_name"], message: "must begin with 'acme-' (policy 'owned')", type: "value_error" }],
  };
  expect((await platform.controlPlane.plan(platform.principal(), { fields }))._unsafeUnwrapErr()).toMatchObject(
    refusal,
  );
  expect((await platform.submit())._unsafeUnwrapErr()).toMatchObject(refusal);
  expect(platform.memory.snapshot()).toEqual(before);
  expect(platform.kept.size).toBe(0);
  await deployed(platform, { function_name: "acme-app" });
});

test("an adjustment is in the plan, in the stream and in the service", async () => {
  const platform = startMemory({ settings: { policies: [small] } });
  const message = "Memory lowered to 512Mi (policy 'small')";
  const plan = (await platform.controlPlane.plan(platform.principal(), { fields }))._unsafeUnwrap();
  expect(plan.summary).toEqual(["Create 'app'", message]);
  expect(plan.adjustments).toEqual([{ field: "memory", from: "1Gi", to: "512Mi", message }]);
  expect(recordTexts(await deployed(platform))).toContain(`DEPLOYING ${message}`);
  expect(await listed(platform)).toMatchObject([{ memory: "512Mi" }]);
});

test("policies run again in the deploy's turn: an earlier deploy can change the result", async () => {
  const once: Policy = {
    name: "once",
    judge: ({ current }) => (current === null ? [] : [veto("function_name", "is deployed once")]),
  };
  const platform = startMemory({ settings: { policies: [once] } });
  const both = await whileTicking(platform.clock, Promise.all([platform.submit(), platform.submit()]));
  const [first, second] = both.map((one) => one._unsafeUnwrap()) as [DeployRun, DeployRun];
  expect((await recordsOf(platform, first)).at(-1)).toMatchObject({ status: "DONE" });
  expect((await recordsOf(platform, second)).at(-1)).toMatchObject({
    status: "ERROR",
    reason: "superseded",
    message: "function_name: is deployed once (policy 'once')",
  });
});

const broken: Policy = {
  name: "broken",
  judge: () => {
    throw new Error("out of order");
  },
};

test("if a policy throws, the plan and the deploy fail with an error that names it", async () => {
  const platform = startMemory({ settings: { policies: [broken] } });
  const error = { kind: "internal", message: "Policy 'broken' failed: out of order" };
  expect((await platform.controlPlane.plan(platform.principal(), { fields }))._unsafeUnwrapErr()).toMatchObject(error);
  expect((await platform.submit())._unsafeUnwrapErr()).toMatchObject(error);
  expect(await listed(platform)).toEqual([]);
});

test("a policy that throws in the deploy's turn ends the stream without its message, which is logged", async () => {
  const cause = new Error("out of order");
  const moody: Policy = {
    name: "moody",
    judge: ({ current }) => {
      if (current !== null) throw cause;
      return [];
    },
  };
  const logged: unknown[] = [];
  const quiet = () => {};
  const logger = {
    debug: quiet,
    info: quiet,
    warn: quiet,
    error: (message: string, fields?: object) => void logged.push({ message, ...fields }),
  };
  const platform = startMemory({ settings: { policies: [moody] }, logger });
  const both = await whileTicking(platform.clock, Promise.all([platform.submit(), platform.submit()]));
  const [first, second] = both.map((one) => one._unsafeUnwrap()) as [DeployRun, DeployRun];
  expect((await recordsOf(platform, first)).at(-1)).toMatchObject({ status: "DONE" });
  const last = (await recordsOf(platform, second)).at(-1);
  expect(last).toMatchObject({ status: "ERROR", reason: "internal" });
  expect(last?.message).not.toContain("moody");
  expect(logged).toEqual([
    {
      message: "a deploy failed with a bug",
      deployId: second.deployId,
      bug: "Policy 'moody' failed: out of order",
      cause,
    },
  ]);
});
