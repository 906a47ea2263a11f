/** The simulated cloud: its clock, its faults, and one deploy on it. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { createControlPlane } from "../../core/control-plane.ts";
import { type AccountId, parseAccount } from "../../core/domain/accounts/account.ts";
import { unavailable } from "../../core/errors.ts";
import { brokenDeployRequest, deployRequest } from "../arbitraries/index.ts";
import { simulateDeploy } from "../simulation/simulate-deploy.ts";
import { createSimulatedCloud } from "../simulation/simulated-cloud.ts";
import { runs } from "../support/vitest/runs.ts";

const fields = { function_name: "my_app", volumes: {} };

test("runs a deploy: its records and the service afterwards", async () => {
  const { refused, records, deployment, millis } = await simulateDeploy(fields);
  expect(refused).toBeUndefined();
  expect(records[0]).toMatchObject({ status: "BUILDING", seq: 1 });
  expect(records.at(-1)).toMatchObject({ status: "DONE" });
  expect(deployment).toMatchObject({ name: "my-app", status: "READY" });
  expect(millis).toBeLessThan(1000);
});

test("a rejected deploy has no records and leaves nothing", async () => {
  const cloud = createSimulatedCloud();
  const before = cloud.memory.snapshot();
  const ended = await simulateDeploy({ function_name: "my_app" }, { cloud });
  expect(ended).toMatchObject({ refused: { kind: "invalid_input", issues: [{ path: ["volumes"] }] }, records: [] });
  expect(ended.deployment).toBeUndefined();
  expect(cloud.memory.snapshot()).toEqual(before);
});

test("an update sees the earlier deploy; another account is rejected", async () => {
  const cloud = createSimulatedCloud();
  await simulateDeploy(fields, { cloud });
  const update = await simulateDeploy({ ...fields, port: 9000 }, { cloud });
  expect(update.records.map(({ message }) => message)).toContain("Updating 'my-app'");
  expect((await simulateDeploy(fields, { cloud, account: "other" })).refused?.kind).toBe("forbidden");
});

test("latency advances the simulated clock", async () => {
  const cloud = createSimulatedCloud({ latency: ({ port }) => (port === "builder" ? 60_000 : 200) });
  const { records, millis } = await simulateDeploy(fields, { cloud });
  expect(records.at(-1)?.status).toBe("DONE");
  expect(millis).toBeGreaterThan(60_000);
});

test("fails a call, or loses its response, by port, method and count", async () => {
  const down = createSimulatedCloud({
    fault: ({ port, method, count }) =>
      port === "services" && method === "rollout" && count === 1
        ? { failure: { reason: "provider_unavailable", message: "It is down." } }
        : undefined,
  });
  const first = await simulateDeploy(fields, { cloud: down });
  expect(first.records.at(-1)).toMatchObject({ status: "ERROR", reason: "provider_unavailable" });
  expect((await simulateDeploy(fields, { cloud: down })).records.at(-1)?.status).toBe("DONE");
  const lost = createSimulatedCloud({
    fault: ({ port, method }) =>
      port === "volumes" && method === "create" ? { error: unavailable("It is down."), after: true } : undefined,
  });
  await simulateDeploy({ ...fields, volumes: { "/data": "data" } }, { cloud: lost });
  expect(lost.memory.snapshot().volumes.size).toBe(1);
});

test("shows log entries late", async () => {
  const cloud = createSimulatedCloud({ logDelay: () => 5000 });
  await simulateDeploy(fields, { cloud });
  const controlPlane = createControlPlane(cloud.ports);
  const principal = { account: parseAccount("simulated") as AccountId, credentialId: "test" };
  const messages = async () => {
    const request = { deployment_name: "my-app", query: "logName=platform" };
    const page = await cloud.during(controlPlane.readLogs(principal, request));
    return page._unsafeUnwrap().logs.map(({ message }) => message);
  };
  expect(await messages()).toEqual([]);
  await cloud.clock.advance(6000);
  expect((await messages()).length).toBeGreaterThan(0);
});

test("rejects a name that cannot be converted to a string", async () => {
  const { refused, deployment } = await simulateDeploy({ ...fields, function_name: { valueOf: null, toString: null } });
  expect(refused?.kind).toBe("invalid_input");
  expect(deployment).toBeUndefined();
});

test("without faults, every valid request succeeds and every invalid one is rejected", async () => {
  await fc.assert(
    fc.asyncProperty(deployRequest(), brokenDeployRequest(), async ({ json }, broken) => {
      expect((await simulateDeploy(json)).records.at(-1)?.status).toBe("DONE");
      expect((await simulateDeploy(broken.fields)).refused?.kind).toBe("invalid_input");
    }),
    runs(40),
  );
});

test("generated requests keep the given names as written, and declare their normal form", () => {
  fc.assert(
    fc.property(deployRequest(undefined, fc.constantFrom("prod-shop", "prod_shop")), ({ json, form, declares }) => {
      expect(["prod-shop", "prod_shop"]).toContain(json["function_name"]);
      expect(form["function_name"]).toBe(json["function_name"]);
      expect(declares.name).toBe("prod-shop");
    }),
    runs(50),
  );
  expect(() => fc.sample(deployRequest(undefined, fc.constant("Prod")), 1)).toThrow("'Prod' cannot be the name");
});
