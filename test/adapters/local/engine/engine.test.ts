/** The engine applies the state again after a failure, and separates builds from instances. */
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, test, vi } from "vitest";
import { Ingress } from "../../../../adapters/local/ingress/index.ts";
import { MARKER } from "../../../../adapters/local/sandbox/runner.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { startLocal } from "../../../support/providers/local-platform.ts";

test("a deploy fails if the ingress cannot open a port, and the next one succeeds", async () => {
  await using platform = await startLocal({ runner: "process", drainSeconds: 1 });
  vi.spyOn(Ingress.prototype, "addService").mockRejectedValueOnce(new Error("too many open files"));
  const source = nodeSource(helloServer("app"));
  expect((await platform.deploy(source)).at(-1)).toMatchObject({ status: "ERROR", reason: "internal" });
  vi.restoreAllMocks();
  expect(await (await fetch(await platform.up(source))).text()).toBe("app");
});

test("applies an unannounced change of the state, even if the first attempt fails", async () => {
  await using platform = await startLocal({ runner: "process", drainSeconds: 1 });
  const url = await platform.up(nodeSource(helloServer("app")));
  vi.spyOn(Ingress.prototype, "removeService").mockImplementationOnce(() => {
    throw new Error("a failure");
  });
  using db = new DatabaseSync(join(platform.dataDir, "state.sqlite"));
  db.exec("DELETE FROM services");
  await vi.waitFor(() => expect(fetch(url)).rejects.toThrow("fetch failed"), { timeout: 60_000, interval: 100 });
});

test("gives builds and instances different markers, so that stopping one does not end the processes of the other", async () => {
  await using platform = await startLocal({ runner: "process" });
  const scripts = { build: `echo build $${MARKER}`, start: "node server.js" };
  const more = { "package.json": JSON.stringify({ name: "test", scripts }) };
  const app = `require("http").createServer((_, res) => res.end(process.env.${MARKER})).listen(process.env.PORT)`;
  const records = await platform.deploy(nodeSource(app, more));
  const built = records.map(({ message }) => /^build (\w+)\./.exec(message ?? "")?.[1]).find(Boolean);
  const served = (await (await fetch(records.at(-1)?.url ?? "")).text()).split(".")[0];
  expect(built).toBe(`${served}b`);
});
