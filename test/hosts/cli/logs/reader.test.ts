/** Messages of `logs -f` about deployments that were deleted or never existed. */
import { expect, test } from "vitest";
import { clientOf } from "../../../../hosts/cli/client.ts";
import { LogReader } from "../../../../hosts/cli/logs/reader.ts";
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
