/** How many calls of Google Cloud an answer costs, whatever an account has: they are billed, and bounded for a project. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { createGcpProvider } from "../../../adapters/gcp/index.ts";
import { createMemoryProvider } from "../../../adapters/memory/index.ts";
import { type ControlPlane, createControlPlane } from "../../../core/control-plane.ts";
import { expectOk } from "../../contracts/support.ts";
import { startFakeCloud } from "../../fakes/gcp/cloud.ts";
import { folderWith } from "../../support/folders.ts";
import { principalOf } from "../../support/local-platform.ts";

const folder = folderWith();
const principal = principalOf("acme");
let cloud: Awaited<ReturnType<typeof startFakeCloud>>;
let controlPlane: ControlPlane;
let closeProvider: () => Promise<void>;

beforeAll(async () => {
  cloud = await startFakeCloud("pretended");
  const { ports } = createMemoryProvider();
  const { provider, close } = await createGcpProvider(cloud.config(folder.path), ports);
  closeProvider = close;
  controlPlane = createControlPlane({ ...ports, provider });
  for (let index = 0; index < 30; index++)
    await expectOk(controlPlane.createVolume(principal, { name: `volume-${index}` }));
});
afterAll(async () => {
  await controlPlane.close();
  await closeProvider();
  await cloud.close();
  folder[Symbol.dispose]();
});

/** The calls of some work, by fake. */
const callsOf = async (work: () => Promise<unknown>): Promise<Record<string, readonly string[]>> => {
  for (const faults of Object.values(cloud.faults)) faults.clear();
  await work();
  return Object.fromEntries(
    Object.entries(cloud.faults).flatMap(([fake, { log }]) => (log.length === 0 ? [] : [[fake, [...log]]])),
  );
};

test("a list of volumes is one listing of buckets and one of services", async () => {
  const calls = await callsOf(async () => {
    expect(await expectOk(controlPlane.listVolumes(principal))).toHaveLength(30);
  });
  expect(calls).toEqual({ storage: ["storage.buckets.list"], run: [expect.stringContaining("ListServices")] });
});

test("a list of deployments is one listing of services", async () => {
  const calls = await callsOf(async () => expectOk(controlPlane.listDeployments(principal)));
  expect(calls).toEqual({ run: [expect.stringContaining("ListServices")] });
});

test("a URL costs one look at the bucket at most", async () => {
  const calls = await callsOf(async () =>
    expectOk(controlPlane.grantUpload(principal, { volume: "volume-1", path: "a.txt" })),
  );
  expect(Object.keys(calls)).toEqual(["storage"]);
  expect(calls["storage"]?.length).toBeLessThanOrEqual(1);
});
