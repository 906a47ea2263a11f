/** Redeploys under load: no request fails, and none is served twice. */
import { readFile, writeFile } from "node:fs/promises";
import { Agent } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { nodeSource } from "../../../support/archives/archives.ts";
import { callbackCode, startCallbackServer } from "../../../support/http/callback-server.ts";
import { openRequest, replyOf, send } from "../../../support/http/clients.ts";
import { eventsOf } from "../../../support/logs/log-entries.ts";
import { startLocal } from "../../../support/providers/local-platform.ts";

/**
 * Writes the id of every POST to a file that all revisions share, and responds with its revision. Most requests take a
 * few milliseconds, some long enough to outlast a revision.
 */
const server = `
import { createServer } from "node:http";
import { appendFileSync } from "node:fs";
${callbackCode}
createServer(async (request, response) => {
  const body = Buffer.concat(await Array.fromAsync(request)).toString();
  if (request.url === "/hold") {
    await report("begun");
    await hold("end");
  }
  if (request.method === "POST") appendFileSync(process.env.SEEN, body + "\\n");
  const work = body.endsWith("0") ? 300 : body.length;
  setTimeout(() => response.end(process.env.REVISION), work);
}).listen(process.env.PORT);
`;

const REDEPLOYS = 20;
const CLIENTS = 10;
/** With this pause, ten clients send fifty requests per second. */
const PAUSE_MS = 200;

test("no request of keep-alive clients fails or is duplicated during twenty redeploys", async () => {
  await using platform = await startLocal({ runner: "process" });
  const seenFile = join(platform.dataDir, "seen");
  await writeFile(seenFile, "");
  const source = nodeSource(server);
  const deploy = (revision: number) => platform.up(source, { env: { SEEN: seenFile, REVISION: String(revision) } });
  const url = await deploy(0);

  const sent: string[] = [];
  const failures: string[] = [];
  const revisions = new Set<number>();
  let answered = Promise.withResolvers<void>();
  let over = false;
  const client = async (name: number): Promise<void> => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await sleep((name * PAUSE_MS) / CLIENTS);
    for (let count = 0; !over; count++) {
      const id = `${name}-${count}`;
      const isPost = count % 3 !== 0;
      if (isPost) sent.push(id);
      try {
        const { status, text } = await send(url, isPost ? { method: "POST", body: id, agent } : { agent });
        if (status === 200) revisions.add(Number(text));
        else failures.push(`${id}: ${status} ${text}`);
      } catch (error) {
        failures.push(`${id}: ${error}`);
      }
      answered.resolve();
      await sleep(PAUSE_MS);
    }
    agent.destroy();
  };
  const clients = Array.from({ length: CLIENTS }, (_, name) => client(name));
  for (let revision = 1; revision <= REDEPLOYS; revision++) {
    expect(await deploy(revision)).toBe(url);
    // Each revision serves a request before the next redeploy.
    while (!revisions.has(revision)) {
      answered = Promise.withResolvers();
      await answered.promise;
    }
  }
  over = true;
  await Promise.all(clients);

  expect(failures).toEqual([]);
  expect([...revisions].sort((a, b) => a - b)).toEqual(
    Array.from({ length: REDEPLOYS + 1 }, (_, revision) => revision),
  );
  const seen = (await readFile(seenFile, "utf8")).trim().split("\n");
  expect(seen.sort()).toEqual(sent.sort());
  expect(await eventsOf(platform, "crashed")).toEqual([]);
});

test("a running request ends in its revision, while new ones go to the new revision immediately", async () => {
  await using callbacks = await startCallbackServer();
  await using platform = await startLocal({ runner: "process" });
  const env = { ...callbacks.env, SEEN: "/dev/null" };
  const url = await platform.up(nodeSource(server), { env: { ...env, REVISION: "1" } });
  const old = openRequest(url, { path: "/hold" });
  old.request.end();
  await callbacks.reported("begun");
  await platform.up(nodeSource(server), { env: { ...env, REVISION: "2" } });
  expect((await send(url)).text).toBe("2");
  callbacks.release("end");
  expect((await replyOf(await old.response)).text).toBe("1");
});

test("requests that wait for the old revision are served by the new one", async () => {
  await using callbacks = await startCallbackServer();
  await using platform = await startLocal({ runner: "process" });
  const fields = { concurrency: 1, max_instances: 1 };
  const env = { ...callbacks.env, SEEN: "/dev/null" };
  const url = await platform.up(nodeSource(server), { ...fields, env: { ...env, REVISION: "1" } });
  const old = send(url, { path: "/hold" });
  await callbacks.reported("begun");
  const waiting = Array.from({ length: 5 }, () => send(url));
  await platform.up(nodeSource(server), { ...fields, env: { ...env, REVISION: "2" } });
  expect((await Promise.all(waiting)).map(({ status, text }) => [status, text])).toEqual(Array(5).fill([200, "2"]));
  callbacks.release("end");
  expect((await old).text).toBe("1");
});

test("a request that still runs when the drain time ends gets a 502", async () => {
  await using callbacks = await startCallbackServer();
  await using platform = await startLocal({ runner: "process", drainSeconds: 0.5 });
  const env = { ...callbacks.env, SEEN: "/dev/null" };
  const url = await platform.up(nodeSource(server), { env: { ...env, REVISION: "1" } });
  const old = send(url, { path: "/hold" });
  await callbacks.reported("begun");
  await platform.up(nodeSource(server), { env: { ...env, REVISION: "2" } });
  expect((await old).status).toBe(502);
  expect(await eventsOf(platform, "crashed")).toEqual([]);
});
