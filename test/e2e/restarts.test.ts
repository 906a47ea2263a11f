/**
 * The end of the server by SIGTERM or SIGKILL does not affect services, because the engine keeps running.
 * PORTSIDE_RESTARTS sets the number of rounds of each signal (5).
 */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { folderWith } from "../support/archives/folders.ts";
import { startCallbackServer } from "../support/http/callback-server.ts";
import { serverOf } from "../support/http/serve-child.ts";
import { Client, end, serve } from "../support/http/served.ts";
import { startTraffic } from "../support/traffic/traffic.ts";

const rounds = Number(process.env["PORTSIDE_RESTARTS"] ?? 5);

test("no request fails, no stream ends, and no line is lost", async () => {
  using folder = folderWith();
  await using callbacks = await startCallbackServer();
  const served = await serve(folder.path, { runner: "process", "drain-seconds": "1" });
  const engine = served.child.pid as number;
  await using stack = new AsyncDisposableStack();
  // Before the folder is deleted.
  stack.defer(() => end(served));
  const client = new Client(served.url, served.apiKey ?? "");
  const { traffic, openStreams, linesOf } = await startTraffic(client, callbacks.env);
  const streams = openStreams();
  const isUp = async () => (await fetch(`${served.url}/health`).catch(() => undefined))?.status === 200;
  for (let round = 0; round < rounds; round++)
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      const pid = serverOf(engine) as number;
      process.kill(pid, signal);
      await expect.poll(() => serverOf(engine)).not.toBe(pid);
      await expect.poll(isUp).toBe(true);
      // A server that ends again within a second is restarted later.
      await sleep(1000);
    }
  await traffic.stop();
  expect(traffic.failures).toEqual([]);
  for (const [name, numbers] of Object.entries(streams)) {
    expect(numbers.problem, name).toBeUndefined();
    expect(numbers.next, name).toBeGreaterThan(rounds);
  }
  const instances = [...(await linesOf()).values()];
  for (const lines of instances) expect(lines).toEqual(lines.map((_, n) => n));
  expect(instances.flat().length).toBeGreaterThan(100);
  console.log(`${traffic.done} requests during ${2 * rounds} ends of the server`);
});
