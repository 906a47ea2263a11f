/** Services that take a busy lease, with real processes. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { callbackCode, startCallbackServer } from "../../../support/http/callback-server.ts";
import { send } from "../../../support/http/clients.ts";
import { eventsOf } from "../../../support/logs/log-entries.ts";
import { busyWorkerCode } from "../../../support/providers/busy-worker.ts";
import { runners, startLocal, startLocalIn } from "../../../support/providers/local-platform.ts";
import { eventually } from "../../../support/vitest/eventually.ts";

const worker = nodeSource(busyWorkerCode);

/**
 * Takes a lease for `GET /work`, responds, and works until the test releases "end". Then releases the lease, and
 * reports. Ends after the report, because the platform stops the instance as soon as it has no lease.
 */
const background = nodeSource(`
${callbackCode}
let work = Promise.resolve();
process.on("SIGTERM", () => work.then(() => process.exit()));
${busyWorkerCode.replace(
  "/* more */",
  `
    if (url.pathname === "/work") {
      res.end(await lease(300_000));
      work = hold("end").then(() => lease(-1000)).then((response) => report("done", response));
      return;
    }
`,
)}
`);

const other = nodeSource(`
import { createServer } from "node:http";
createServer((req, res) => res.end("second")).listen(process.env.PORT);
`);

const socketsIn = async (dataDir: string): Promise<string[]> =>
  (await readdir(join(dataDir, "run")))
    .filter((name) => name.endsWith(".busy"))
    .map((name) => join(dataDir, "run", name));

describe.each(runners)("%s", (runner) => {
  test("an instance with a lease is not frozen, and is frozen after the lease", async () => {
    await using platform = await startLocal({ runner, idleSeconds: 0.2 });
    const idleUrl = await platform.up(other, { function_name: "idle" });
    const url = await platform.up(worker, { function_name: "busy" });
    expect((await send(url, { path: "/lease?ms=300000" })).text).toMatch(/^200 \{"until":"\d{4}-/);
    const isFrozen = async () =>
      (await eventsOf(platform, "frozen", "busy")).length > (await eventsOf(platform, "thawed", "busy")).length;
    // The other service shows that the idle time has passed.
    for (let round = 0; round < 3; round++) {
      const before = (await eventsOf(platform, "frozen", "idle")).length;
      await send(idleUrl);
      await eventually(async () => expect((await eventsOf(platform, "frozen", "idle")).length).toBeGreaterThan(before));
    }
    expect(await isFrozen()).toBe(false);
    expect((await send(url, { path: "/lease?ms=-1000" })).text).toBe('200 {"until":null}');
    await eventually(async () => expect(await isFrozen()).toBe(true));
  });

  test("limits a lease to the service's timeout, and hides the socket's path on this machine in a sandbox", async () => {
    await using platform = await startLocal({ runner });
    const url = await platform.up(worker, { timeout: 60 });
    expect((await send(url, { path: "/lease?ms=50000" })).text).toMatch(/^200 /);
    expect((await send(url, { path: "/lease?ms=120000" })).text).toMatch(
      /^400 .*'until' must be at most 60 s from now/,
    );
    const path = (await send(url, { path: "/path" })).text;
    expect(Buffer.byteLength(path)).toBeLessThanOrEqual(107);
    const sockets = await socketsIn(platform.dataDir);
    expect(sockets).toHaveLength(1);
    const own = await send(url, { path: `/connect?path=${encodeURIComponent(path)}` });
    expect(own.text).toBe("connected");
    if (runner === "process") return;
    const host = await send(url, { path: `/connect?path=${encodeURIComponent(sockets[0] ?? "")}` });
    expect(["ENOENT", "EACCES"]).toContain(host.text);
  });
});

test("services take leases even if the path of the data folder is too long for a socket", async () => {
  using folder = folderWith();
  await using platform = await startLocalIn(join(folder.path, "d".repeat(110)), { runner: "process" });
  const url = await platform.up(worker);
  expect((await send(url, { path: "/lease?ms=1000" })).text).toMatch(/^200 /);
  expect(await socketsIn(platform.dataDir)).toEqual([]);
});

test("a replaced instance keeps running until it has released its lease", async () => {
  await using callbacks = await startCallbackServer();
  await using platform = await startLocal({ runner: "process", drainSeconds: 600 });
  const url = await platform.up(background, { env: callbacks.env });
  expect((await send(url, { path: "/work" })).text).toMatch(/^200 /);
  await platform.up(other);
  expect((await send(url)).text).toBe("second");
  callbacks.release("end");
  expect(await callbacks.reported("done")).toEqual(['200 {"until":null}']);
  await eventually(async () => expect(await socketsIn(platform.dataDir)).toHaveLength(1));
});
