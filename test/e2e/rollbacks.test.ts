/** Rollbacks under load: no request fails. */
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { envSource } from "../support/archives/archives.ts";
import { folderWith } from "../support/archives/folders.ts";
import { Client, end, serve } from "../support/http/served.ts";
import { Traffic } from "../support/traffic/traffic.ts";

const ROLLBACKS = 20;
/** Between two requests of a loop; five loops make 50 requests a second. */
const PAUSE_MS = 100;
const LOOPS = 5;

test("no request fails during 20 rollbacks, and each response is from one of the two releases", async () => {
  using folder = folderWith();
  const served = await serve(folder.path, { runner: "process", "drain-seconds": "5" });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => end(served));
  const client = new Client(served.url, served.apiKey ?? "");
  for (const text of ["a", "b"]) await Array.fromAsync(client.deploy("app", envSource(text)));
  const [app] = await client.list();
  const traffic = new Traffic();
  const seen = new Set<string>();
  for (let loop = 0; loop < LOOPS; loop++)
    traffic.repeat(PAUSE_MS, async () => {
      const response = await fetch(app?.url ?? "");
      if (response.status !== 200) throw new Error(`${response.status}: ${await response.text()}`);
      seen.add(((await response.json()) as { source: string }).source);
    });
  for (let n = 0; n < ROLLBACKS; n++) {
    const records = await client.records("/v1/deployment/rollback", { name: "app", release: (n % 2) + 1 });
    expect(records.at(-1)).toMatchObject({ status: "DONE" });
    expect(await (await fetch(app?.url ?? "")).json()).toMatchObject({ source: n % 2 === 0 ? "a" : "b" });
  }
  await sleep(PAUSE_MS);
  await traffic.stop();
  expect(traffic.failures).toEqual([]);
  expect([...seen].sort()).toEqual(["a", "b"]);
  console.log(`${traffic.done} requests during ${ROLLBACKS} rollbacks`);
});
