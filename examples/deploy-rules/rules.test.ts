import fc from "fast-check";
import type { Policy } from "portside";
import { createSimulatedCloud, deployRequest, simulateDeploy } from "portside/testing";
import { expect, test } from "vitest";
import { largeHasOwner, largeHasOwnerAtFirst, readOnlyInProduction, tenMinutes } from "./rules.ts";

const policies = [readOnlyInProduction, largeHasOwner, tenMinutes];

test("no production deploy can write to a volume", async () => {
  await fc.assert(
    fc.asyncProperty(deployRequest(), async ({ json }) => {
      const fields = { ...json, function_name: "prod-shop" };
      const { deployment } = await simulateDeploy(fields, { settings: { policies } });
      for (const { read_only } of Object.values(deployment?.volumes ?? {})) expect(read_only).toBe(true);
    }),
    { numRuns: 100 },
  );
});

test("no request takes longer than ten minutes", async () => {
  await fc.assert(
    fc.asyncProperty(deployRequest(), async ({ json }) => {
      const { deployment } = await simulateDeploy(json, { settings: { policies } });
      expect(deployment?.timeout ?? 0).toBeLessThanOrEqual(600);
    }),
    { numRuns: 100 },
  );
});

/** A declaration that was deployed can be deployed again. Without `env`, the deploy keeps the environment. */
const againWithoutEnv = (policy: Policy) =>
  fc.asyncProperty(deployRequest(), fc.boolean(), async ({ json }, large) => {
    const cloud = createSimulatedCloud();
    const options = { cloud, settings: { policies: [policy] } };
    const fields = { ...json, ...(large ? { memory: "16Gi", cpu: 4 } : { memory: "1Gi" }), env: { OWNER: "shop" } };
    const first = await simulateDeploy(fields, options);
    const { env: _unsaid, ...again } = fields;
    const second = await simulateDeploy(again, options);
    expect(second.refused).toEqual(first.refused);
  });

test("a redeploy without env keeps the owner", async () => {
  await fc.assert(againWithoutEnv(largeHasOwner), { numRuns: 100 });
});

test("the property detects that the first version of the rule loses the owner", async () => {
  const found = await fc.check(againWithoutEnv(largeHasOwnerAtFirst), { numRuns: 100 });
  expect(found.failed).toBe(true);
  // The minimal counterexample is a large service.
  expect(found.counterexample?.[1]).toBe(true);
});
