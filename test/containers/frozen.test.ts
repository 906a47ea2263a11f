/** Frozen containers do not run, continue at the next request, and end like others. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { findExecTargets } from "../../adapters/local/containers/exec-targets.ts";
import { sourceOf } from "../support/archives/archives.ts";
import { folderWith } from "../support/archives/folders.ts";
import { send } from "../support/http/clients.ts";
import { eventsOf } from "../support/logs/log-entries.ts";
import { containersOf } from "../support/providers/at-docker.ts";
import { startLocal, startLocalIn } from "../support/providers/local-platform.ts";
import { eventually } from "../support/vitest/eventually.ts";
import { needs } from "../support/vitest/machine.ts";

/** Responds with the number of its ticks. */
const source = sourceOf({
  Dockerfile: `FROM node:24-bookworm-slim\nCOPY server.js /\nCMD ["node", "/server.js"]\n`,
  "server.js": `
    let ticks = 0;
    setInterval(() => ticks++, 10);
    require("node:http").createServer((q, r) => r.end(String(ticks))).listen(process.env.PORT);
  `,
});

test("a frozen container does not run, and serves every later request", async (context) => {
  needs(context, "base images");
  await using platform = await startLocal({ idleSeconds: 0.3 });
  const url = await platform.up(source);
  const before = Number((await send(url)).text);
  await eventually(async () => expect(await eventsOf(platform, "frozen")).toHaveLength(1));
  await sleep(1500);
  const replies = await Promise.all(Array.from({ length: 20 }, () => send(url)));
  expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(200));
  expect(Number(replies[0]?.text) - before).toBeLessThan(100);
  expect(await eventsOf(platform, "thawed")).toHaveLength(1);
  expect(await eventsOf(platform, "started")).toEqual([]);
});

test("a frozen container stops after the second idle time, and with its server", async (context) => {
  needs(context, "base images");
  const names = async () => (await containersOf("app")).length;
  {
    await using platform = await startLocal({ idleSeconds: 0.3, stopAfterSeconds: 1.5, graceSeconds: 60 });
    const url = await platform.up(source);
    await eventually(async () => expect(await eventsOf(platform, "frozen")).toHaveLength(1));
    await eventually(async () => expect(await names()).toBe(0));
    expect(await eventsOf(platform, "crashed")).toEqual([]);
    expect((await send(url)).status).toBe(200);
    await eventually(async () => expect(await eventsOf(platform, "frozen")).toHaveLength(2));
  }
  expect(await names()).toBe(0);
});

test("a shell does not enter a frozen container, where it would freeze, too", async (context) => {
  needs(context, "base images");
  using folder = folderWith();
  await using platform = await startLocalIn(folder.path, { idleSeconds: 0.3 });
  const url = await platform.up(source);
  await eventually(async () => expect(await eventsOf(platform, "frozen")).toHaveLength(1));
  const find = () => findExecTargets("app", { dataDir: folder.path, environment: process.env, isTerminal: false });
  await expect(find()).rejects.toThrow("'app' is frozen. Call its URL first.");
  // Keeps the instance awake.
  const requests = setInterval(() => void send(url).catch(() => undefined), 50);
  await eventually(async () => expect((await find()).found).toHaveLength(1));
  clearInterval(requests);
});
