/** Services whose idle instances are frozen, with real processes. */
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { startEngine } from "../../../../adapters/local/engine/start-engine.ts";
import { nodeSource } from "../../../support/archives/archives.ts";
import { send } from "../../../support/http/clients.ts";
import { eventsOf } from "../../../support/logs/log-entries.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { runners, startLocal } from "../../../support/providers/local-platform.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

/** Responds with the process id and the number of its ticks. Closes idle connections after half a second. */
const ticker = nodeSource(`
import { createServer } from "node:http";
let ticks = 0;
setInterval(() => ticks++, 10);
const server = createServer((request, response) => response.end(process.pid + " " + ticks));
server.keepAliveTimeout = 500;
server.listen(process.env.PORT);
`);

/** Holds more than half of the memory budget of the test. */
const holder = nodeSource(`
import { createServer } from "node:http";
const held = Buffer.alloc(60_000_000, 1);
createServer((request, response) => response.end(String(held.length))).listen(process.env.PORT);
`);

const parse = (text: string) => {
  const [pid = 0, ticks = 0] = text.split(" ").map(Number);
  return { pid, ticks };
};

describe.each(runners)("%s", (runner) => {
  test("a frozen service does not run, and serves every later request", async () => {
    await using platform = await startLocal({ runner, idleSeconds: 0.2 });
    const url = await platform.up(ticker);
    const before = parse((await send(url)).text);
    await eventually(async () => expect(await eventsOf(platform, "frozen")).toHaveLength(1));
    await sleep(1500);
    const replies = await Promise.all(Array.from({ length: 20 }, () => send(url)));
    expect(replies.map(({ status }) => status)).toEqual(Array(20).fill(200));
    expect(new Set(replies.map(({ text }) => parse(text).pid))).toEqual(new Set([before.pid]));
    // The service ran for less than a second of the time between the requests.
    expect(parse(replies[0]?.text ?? "").ticks - before.ticks).toBeLessThan(100);
    expect((await eventsOf(platform, "thawed"))[0]?.["thaw_ms"]).toBeGreaterThanOrEqual(0);
    expect(await eventsOf(platform, "started")).toEqual([]);
    expect(await eventsOf(platform, "crashed")).toEqual([]);
  });

  test("a redeploy of a frozen service serves the new revision, and logs no crash", async () => {
    await using platform = await startLocal({ runner, idleSeconds: 0.2 });
    const url = await platform.up(ticker);
    const { pid } = parse((await send(url)).text);
    await eventually(async () => expect(await eventsOf(platform, "frozen")).toHaveLength(1));
    await platform.up(
      nodeSource(`
      import { createServer } from "node:http";
      createServer((request, response) => response.end("second")).listen(process.env.PORT);
    `),
    );
    expect((await send(url)).text).toBe("second");
    expect(pid).toBeGreaterThan(0);
    expect(await eventsOf(platform, "crashed")).toEqual([]);
  });
});

test.each([
  ["freeze", "stop", "frozen"],
  ["stop", "freeze", "idle"],
] as const)("a service that declares %s ignores the platform's default %s", async (idle, byDefault, event) => {
  await using platform = await startLocal({ runner: "process", idle: byDefault, idleSeconds: 0.2 });
  await platform.up(ticker, { idle });
  await platform.up(ticker, { function_name: "other" });
  await eventually(async () => expect(await eventsOf(platform, event)).toHaveLength(1));
  const other = event === "frozen" ? "idle" : "frozen";
  await eventually(async () => expect(await eventsOf(platform, other, "other")).toHaveLength(1));
  expect(await eventsOf(platform, other)).toEqual([]);
});

test("stops a frozen instance after the second idle time, and starts another one for the next request", async () => {
  await using platform = await startLocal({ runner: "process", idleSeconds: 0.2, stopAfterSeconds: 0.6 });
  const url = await platform.up(ticker);
  const before = parse((await send(url)).text);
  await eventually(async () => expect(await eventsOf(platform, "idle")).toMatchObject([{ reason: "idle" }]));
  expect(await eventsOf(platform, "frozen")).toHaveLength(1);
  expect(parse((await send(url)).text).pid).not.toBe(before.pid);
});

test("frozen instances yield to requests and deploys at the account's quota, oldest first", async () => {
  await using platform = await startLocal({ runner: "process", idleSeconds: 0.2, instancesPerAccount: 2 });
  const urls: string[] = [];
  for (const name of ["first", "second", "third"]) {
    urls.push(await platform.up(ticker, { function_name: name, max_instances: 1 }));
    await eventually(async () => expect(await eventsOf(platform, "frozen", name)).toHaveLength(1));
  }
  expect(await eventsOf(platform, "idle", "first")).toMatchObject([{ reason: "quota" }]);
  expect(await eventsOf(platform, "idle", "second")).toEqual([]);
  expect((await send(urls[0] ?? "")).status).toBe(200);
  expect(await eventsOf(platform, "idle", "second")).toMatchObject([{ reason: "quota" }]);
  expect(await eventsOf(platform, "idle", "third")).toEqual([]);
});

test("frozen instances stop at the memory budget, oldest first, and all services respond afterwards", async () => {
  const names = ["first", "second", "third"];
  await using platform = await startLocal({ runner: "process", idleSeconds: 0.2, frozenMemory: 100_000_000 });
  const urls: string[] = [];
  for (const name of names) {
    urls.push(await platform.up(holder, { function_name: name }));
    await eventually(async () => expect(await eventsOf(platform, "frozen", name)).toHaveLength(1));
  }
  await eventually(async () =>
    expect(await eventsOf(platform, "idle", "second")).toMatchObject([{ reason: "memory" }]),
  );
  expect(await eventsOf(platform, "idle", "first")).toMatchObject([{ reason: "memory" }]);
  expect(await eventsOf(platform, "idle", "third")).toEqual([]);
  for (const url of urls) expect((await send(url)).status).toBe(200);
});

test("an upgrade starts no instance for a frozen service", async () => {
  await using platform = await startLocal({ runner: "process" });
  const url = await platform.up(ticker);
  await platform.local.close();
  const config = { dataDir: platform.dataDir, runner: "process", ingressPort: 0, idleSeconds: 0.5 } as const;
  await using engine = await startEngine(config, { logger: silentLogger, environment: process.env });
  const before = parse((await send(url)).text);
  expect(engine.describe().services).toEqual(["app"]);
  await eventually(() => expect(engine.describe().services).toEqual([]));
  expect(parse((await send(url)).text).pid).toBe(before.pid);
  expect(engine.describe().services).toEqual(["app"]);
});
