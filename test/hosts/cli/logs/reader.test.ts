/** Messages of `logs -f` about deployments that were deleted or never existed. */
import { expect, test } from "vitest";
import { clientOf } from "../../../../hosts/cli/client.ts";
import { LogReader } from "../../../../hosts/cli/logs/reader.ts";
import { createClient } from "../../../../hosts/client/index.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { terminal } from "../../../support/cli/terminal.ts";
import { serveMemory } from "../../../support/http/api.ts";

const GONE = "The deployment 'my_app' does not exist. Waiting for a deployment of that name…\n";

test("reports each delete once, even if the filter hides it", async () => {
  await using api = await serveMemory();
  const { io, stderr } = terminal();
  const reader = new LogReader(clientOf({ url: api.url, apiKey: await api.key() }), io, "my_app", "nothing");
  const deploy = () => api.deploy({ function_name: "my_app", volumes: "{}" }, nodeSource(helloServer()));
  await deploy();
  await reader.checkDeployment();
  expect(stderr()).toBe("");
  await api.call("POST", "/v1/deployment/delete", { json: { name: "my_app" } });
  for (let time = 0; time < 2; time++) await reader.checkDeployment();
  expect(stderr()).toBe(GONE);
  await deploy();
  await reader.checkDeployment();
  await api.call("POST", "/v1/deployment/delete", { json: { name: "my_app" } });
  await reader.checkDeployment();
  expect(stderr()).toBe(GONE + GONE);
});

test("reports a deployment that never existed, and recovers from a failed page", async () => {
  await using api = await serveMemory();
  const { io, stderr } = terminal();
  const reader = new LogReader(clientOf({ url: api.url, apiKey: await api.key() }), io, "my_app", undefined);
  expect(await reader.pageIfAny(undefined, 1)).toBeUndefined();
  expect(stderr()).toBe(GONE);
});

test("reports a body that breaks or is not JSON once, and continues", async () => {
  const cut = new ReadableStream({ start: (controller) => controller.error(new TypeError("terminated")) });
  const answers = [new Response("<h1>Welcome</h1>"), new Response(cut), Response.json({ logs: [], cursor: "c1" })];
  const client = createClient({ url: "http://127.0.0.1:1", fetch: async () => answers.shift() as Response });
  const { io, stderr } = terminal();
  const reader = new LogReader(client, io, "my_app", undefined);
  expect(await reader.pageIfAny(undefined, 1)).toBeUndefined();
  expect(await reader.pageIfAny(undefined, 1)).toBeUndefined();
  expect(await reader.pageIfAny(undefined, 1)).toMatchObject({ cursor: "c1" });
  expect(stderr()).toBe("The platform is unavailable. Retrying…\n");
});

test("reads pages without `wait` if the platform does not know the field", async () => {
  const bodies: { wait?: number }[] = [];
  const fetch = async (_url: unknown, init?: RequestInit) => {
    const body = JSON.parse(String(init?.body));
    bodies.push(body);
    if (body.wait === undefined) return Response.json({ logs: [], cursor: "c1" });
    const unknown = { loc: ["body", "wait"], msg: "unknown field 'wait'", type: "extra_forbidden" };
    return Response.json({ detail: [unknown] }, { status: 422 });
  };
  const { io, stderr } = terminal();
  const reader = new LogReader(createClient({ url: "http://127.0.0.1:1", fetch }), io, "my_app", undefined);
  for (let time = 0; time < 2; time++) expect(await reader.pageIfAny(undefined, 1)).toMatchObject({ cursor: "c1" });
  expect(bodies.map(({ wait }) => wait)).toEqual([20, undefined, undefined]);
  expect(stderr()).toBe("");
});
