/**
 * Whole deploys of a control plane on Cloud Run and Cloud Build, every other port in memory: a fault at any single call
 * ends in a last record with a cause or in success, leaves what served before, and a repeat completes it.
 */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createCloudBuilder } from "../../../adapters/gcp/build/builder.ts";
import { gcpCapabilities } from "../../../adapters/gcp/capabilities.ts";
import { createRunPlatform } from "../../../adapters/gcp/run/platform.ts";
import { createMemoryProvider, type MemoryProvider } from "../../../adapters/memory/index.ts";
import { randomIds } from "../../../adapters/shared/system.ts";
import { type ControlPlane, createControlPlane } from "../../../core/control-plane.ts";
import type { DeployEvent } from "../../../core/domain/deploy-events.ts";
import { chunked } from "../../contracts/support.ts";
import type { FaultKind } from "../../fakes/gcp/faults.ts";
import { createPretendedEngine } from "../../fakes/gcp/run/engine.ts";
import { config, openRunWorld, type RunWorld } from "../../fakes/gcp/run/world.ts";
import { nodeSource } from "../../support/archives.ts";
import { createFastClock } from "../../support/fast-clock.ts";
import { principalOf } from "../../support/local-platform.ts";
import { silentLogger } from "../../support/silent-logger.ts";

const fakes = ["run", "iam", "objects", "build", "registry"] as const;

let world: RunWorld;
let memory: MemoryProvider;
let controlPlane: ControlPlane;
beforeAll(async () => {
  world = await openRunWorld({ engine: createPretendedEngine });
  world.iam.most = 10_000;
  const clock = createFastClock(100);
  const ambient = { clock, ids: randomIds, logger: silentLogger };
  memory = createMemoryProvider(ambient);
  const provider = {
    ...memory.provider,
    capabilities: gcpCapabilities(config),
    services: createRunPlatform(config, world.clients, ambient, { lastLines: world.lastLines }),
    builder: createCloudBuilder(config, world.clients, ambient),
  };
  controlPlane = createControlPlane({ ...memory.ports, provider });
});
afterAll(async () => {
  await controlPlane.close();
  await memory.close();
  await world.close();
});

let sources = 0;

/** The records; none where the deploy was refused before its stream, as an outage. */
const deploy = async (name: string, fields: object = {}): Promise<DeployEvent[]> => {
  const principal = principalOf(`account-of-${name}`);
  const bytes = nodeSource(`source ${++sources}`);
  const archive = (await controlPlane.receiveSource(principal, chunked(bytes)))._unsafeUnwrap();
  const run = await controlPlane.deploy(principal, {
    fields: { function_name: name, volumes: {}, ...fields },
    archive,
  });
  if (run.isErr()) {
    expect(run.error.kind).toBe("unavailable");
    return [];
  }
  return Array.fromAsync(run.value.follow());
};

const clear = () => {
  for (const fake of fakes) world[fake].faults.clear();
};

const shown = async (name: string) => {
  const listed = (await controlPlane.listDeployments(principalOf(`account-of-${name}`)))._unsafeUnwrap();
  return listed.find((one) => one.name === name);
};

test("builds, rolls out, is listed, is deployed again, and is deleted", async () => {
  const records = await deploy("whole", { timeout: 10, env: { A: "b" } });
  expect(records.at(-1)).toMatchObject({ status: "DONE" });
  expect(await shown("whole")).toMatchObject({
    status: "READY",
    timeout: 10,
    env: ["A"],
    region: config.region,
    url: records.at(-1)?.url,
    last_deploy: { status: "DONE", deploy_id: records.at(-1)?.deploy_id },
  });
  expect((await deploy("whole", { timeout: 11 })).at(-1)?.status).toBe("DONE");
  expect(await shown("whole")).toMatchObject({ timeout: 11, env: ["A"] });
  const principal = principalOf("account-of-whole");
  const deleted = await controlPlane.deleteDeployment(principal, { name: "whole" });
  expect(deleted.isOk()).toBe(true);
  expect(await shown("whole")).toBeUndefined();
});

const kinds: readonly FaultKind[] = ["permission_denied", "reply_lost"];

test("a fault at any single call of a deploy", { timeout: 120_000 }, async () => {
  await deploy("counted", { timeout: 10 });
  clear();
  await deploy("counted", { timeout: 11 });
  const calls = fakes.flatMap((fake) =>
    world[fake].faults.log.map((method, index) => ({ fake, nth: index + 1, method })),
  );
  expect(calls.length).toBeGreaterThan(20);
  let round = 0;
  for (const { fake, nth, method } of calls)
    for (const kind of kinds) {
      const name = `app-${++round}`;
      const before = (await deploy(name, { timeout: 10 })).at(-1);
      expect(before?.status).toBe("DONE");
      const revision = (await shown(name))?.revision;
      clear();
      world[fake].faults.inject({ nth, kind });
      const end = (await deploy(name, { timeout: 11 })).at(-1);
      clear();
      const what = `${kind} at ${fake} ${nth} (${method}): ${JSON.stringify(end)}`;
      const now = await shown(name);
      if (end?.status === "DONE") expect(now, what).toMatchObject({ status: "READY", timeout: 11 });
      else {
        expect(kind, what).toBe("permission_denied");
        if (end !== undefined) expect(end, what).toMatchObject({ status: "ERROR", reason: expect.any(String) });
        expect(end?.reason, what).not.toBe("internal");
        expect(now, what).toMatchObject({ status: "READY", timeout: 10, revision });
      }
      expect((await deploy(name, { timeout: 12 })).at(-1)?.status, `${what}, then again`).toBe("DONE");
      expect(await shown(name), what).toMatchObject({ status: "READY", timeout: 12 });
    }
});
