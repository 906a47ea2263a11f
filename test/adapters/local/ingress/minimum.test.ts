/** Services with a minimum of instances, with real processes. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { nodeSource } from "../../../support/archives/archives.ts";
import { send } from "../../../support/http/clients.ts";
import { eventsOf } from "../../../support/logs/log-entries.ts";
import { startLocal } from "../../../support/providers/local-platform.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

const source = nodeSource(`
import { createServer } from "node:http";
createServer((request, response) => {
  response.end(String(process.pid));
  if (request.url === "/exit") setTimeout(() => process.exit(3), 10);
}).listen(process.env.PORT);
`);

test("the minimum starts with the deploy, stays awake, and is restored after a crash", async () => {
  await using platform = await startLocal({ runner: "process", idle: "stop", idleSeconds: 0.2 });
  const url = await platform.up(source, { min_instances: 2, max_instances: 2 });
  // The rollout has started the other instance.
  await eventually(async () => expect(await eventsOf(platform, "started")).toHaveLength(1));
  await sleep(1000);
  expect(await eventsOf(platform, "idle")).toEqual([]);
  await send(url, { path: "/exit" });
  await eventually(async () => expect(await eventsOf(platform, "started")).toHaveLength(2));
  expect(await eventsOf(platform, "crashed")).toHaveLength(1);
  expect((await send(url)).status).toBe(200);
});

test("a deploy that removes the minimum lets the service scale to zero", async () => {
  await using platform = await startLocal({ runner: "process", idle: "stop", idleSeconds: 0.2 });
  await platform.up(source, { min_instances: 1 });
  await sleep(600);
  expect(await eventsOf(platform, "idle")).toEqual([]);
  await platform.up(source, { min_instances: 0 });
  await eventually(async () => expect((await eventsOf(platform, "idle")).length).toBeGreaterThan(0));
});
