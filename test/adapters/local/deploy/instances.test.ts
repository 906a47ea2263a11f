/** The instances in `GET /v1/deployment/get`, with real services. */
import { expect, test } from "vitest";
import type { DeploymentDetails } from "../../../../core/domain/deploy/deployment-details.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { principalOf, startLocalIn, type TestPlatform } from "../../../support/providers/local-platform.ts";

const acme = principalOf("acme");

const details = async ({ controlPlane }: TestPlatform): Promise<DeploymentDetails> =>
  (await controlPlane.getDeployment(acme, { name: "app" }))._unsafeUnwrap();

const states = async (platform: TestPlatform) =>
  (await details(platform)).instances?.map(({ revision, state }) => `${revision} ${state}`);

const source = (code: string) => nodeSource(code);

/** Listens, and computes without end in a thread if the request says so. */
const busy = `
import { createServer } from "node:http";
import { Worker } from "node:worker_threads";
createServer((request, response) => {
  if (request.url === "/compute") new Worker("for (;;) {}", { eval: true });
  if (request.url !== "/hang") response.end("ok");
}).listen(process.env.PORT);
`;

test("reports memory, CPU and age of a ready instance", async () => {
  using folder = folderWith();
  await using platform = await startLocalIn(folder.path);
  const url = await platform.up(source(busy));
  const [idle] = (await details(platform)).instances ?? [];
  expect(idle).toMatchObject({ revision: "app-00001", state: "ready" });
  expect(idle?.memory_bytes).toBeGreaterThan(10_000_000);
  expect(Math.abs(Date.now() - Date.parse(idle?.started_at ?? ""))).toBeLessThan(600_000);
  await fetch(`${url}/compute`);
  await expect
    .poll(async () => (await details(platform)).instances?.[0]?.cpu_percent)
    .toBeGreaterThan((idle?.cpu_percent ?? 0) + 10);
});

test("shows a frozen instance, and an instance that drains while the new revision serves", async () => {
  using folder = folderWith();
  await using platform = await startLocalIn(folder.path, { idleSeconds: 1, idle: "freeze" });
  const url = await platform.up(source(busy));
  await expect.poll(() => states(platform)).toEqual(["app-00001 frozen"]);
  const hanging = fetch(`${url}/hang`).catch(() => undefined);
  await expect.poll(() => states(platform)).toEqual(["app-00001 ready"]);
  await platform.up(nodeSource(helloServer("second")));
  expect(await states(platform)).toEqual(expect.arrayContaining(["app-00001 draining"]));
  await hanging;
  await expect.poll(() => states(platform)).not.toContain("app-00001 draining");
});

test("shows a starting instance, and the message and output of a failed deploy", async () => {
  using folder = folderWith();
  await using platform = await startLocalIn(folder.path);
  await platform.up(nodeSource(helloServer("first")));
  const code = 'console.log("cannot read the file"); setTimeout(() => process.exit(3), 3000);';
  const failing = platform.deploy(source(code));
  await expect.poll(() => states(platform)).toContain("app-00002 starting");
  expect((await failing).at(-1)).toMatchObject({ status: "ERROR", reason: "crashed" });
  const { last_deploy, instances, release, revision } = await details(platform);
  expect(last_deploy).toMatchObject({ status: "ERROR", reason: "crashed", log_tail: ["cannot read the file"] });
  expect(last_deploy?.message).toContain("3");
  expect(instances?.map((one) => one.revision)).toEqual(["app-00001"]);
  expect([release, revision]).toEqual([1, "app-00001"]);
});

test("shows the message of the last deploy after a restart, from the log", async () => {
  using folder = folderWith();
  let before: DeploymentDetails["last_deploy"];
  {
    await using platform = await startLocalIn(folder.path);
    await platform.deploy(source('console.log("no configuration"); process.exit(4);'));
    before = (await details(platform)).last_deploy;
  }
  await using platform = await startLocalIn(folder.path);
  expect((await details(platform)).last_deploy).toEqual(before);
  expect(before).toMatchObject({ reason: "crashed", log_tail: ["no configuration"] });
});
