import fc from "fast-check";
import type { Policy } from "portside";
import { createSimulatedCloud, deployRequest, simulateDeploy } from "portside/testing";
import { expect, test } from "vitest";
import { largeHasOwner, largeHasOwnerAtFirst, readOnlyInProduction, tenMinutes } from "./rules.ts";

const policies = [readOnlyInProduction, largeHasOwner, tenMinutes];

test("nothing in production writes to a volume, whatever is declared", async () => {
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

/** What was deployed once is deployed again, also by whoever leaves the environment as it is. */
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

test("a redeploy that leaves the environment as it is keeps its owner", async () => {
  await fc.assert(againWithoutEnv(largeHasOwner), { numRuns: 100 });
});

test("the first version of that rule forgot it, and the property finds a deploy that shows it", async () => {
  const found = await fc.check(againWithoutEnv(largeHasOwnerAtFirst), { numRuns: 100 });
  expect(found.failed).toBe(true);
  // The one thing that matters: it is large.
  expect(found.counterexample?.[1]).toBe(true);
});
