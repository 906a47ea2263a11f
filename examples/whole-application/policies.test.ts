import fc from "fast-check";
import { type Policy, parseMemory } from "portside";
import { cloudRunLikeCatalogue, deployRequest, simulateDeploy } from "portside/testing";
import { describe, expect, test } from "vitest";
import { leastMemory, mostInstances, prodInstances, prodInstancesAtFirst, prodMemory } from "./policies.ts";

/** Names as clients write them. */
const prod = fc.constantFrom("prod-shop", "prod_shop");

/**
 * Deployed services satisfy the rules for memory and instances. A `max_instances` of 0 would mean the platform's own
 * maximum.
 */
const holds = (...policies: readonly Policy[]) =>
  fc.asyncProperty(deployRequest(cloudRunLikeCatalogue, prod), async ({ json }) => {
    const { deployment } = await simulateDeploy(json, { settings: { policies } });
    if (deployment === undefined) return;
    expect(parseMemory(deployment.memory)).toBeGreaterThanOrEqual(leastMemory);
    expect(deployment.max_instances).toBeGreaterThanOrEqual(1);
    expect(deployment.max_instances).toBeLessThanOrEqual(mostInstances);
  });

describe("examples", () => {
  const settings = { policies: [prodMemory, prodInstances] };
  test("rejects too little memory, and names the field", async () => {
    const { refused } = await simulateDeploy(
      { function_name: "prod-shop", volumes: {}, memory: "256Mi" },
      { settings },
    );
    if (refused?.kind !== "invalid_input") throw new Error(`refused as ${refused?.kind}`);
    expect(refused.issues[0]?.path).toContain("memory");
  });
  test("lowers the instances, with a message", async () => {
    const { deployment, records } = await simulateDeploy(
      { function_name: "prod-shop", volumes: {}, max_instances: 50 },
      { settings },
    );
    expect(deployment?.max_instances).toBe(mostInstances);
    expect(records.map(({ message }) => message).join("\n")).toContain("Instances lowered from 50 to 10");
  });
  test("does not restrict other deployments", async () => {
    const { deployment } = await simulateDeploy(
      { function_name: "shop", volumes: {}, memory: "128Mi", max_instances: 50 },
      { settings },
    );
    expect(deployment?.max_instances).toBe(50);
  });
});

test("the rules hold for every declaration", () => fc.assert(holds(prodMemory, prodInstances), { numRuns: 100 }));

test("the property detects the bug in the first version", async () => {
  const found = await fc.check(holds(prodMemory, prodInstancesAtFirst), { numRuns: 200 });
  expect(found.failed).toBe(true);
  expect(found.counterexample?.[0].declares.maxInstances).toBe(0);
});
