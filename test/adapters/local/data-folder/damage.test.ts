/** Damaged files that the platform can replace do not prevent a start, and the loss is logged. */
import { mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { ImageStore } from "../../../../adapters/local/builds/image-store.ts";
import type { Logger } from "../../../../core/ports/system.ts";
import { helloServer, nodeSource, sourceOf } from "../../../support/archives/archives.ts";
import { type Folder, folderWith } from "../../../support/archives/folders.ts";
import { principalOf, startLocalIn, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { needs } from "../../../support/vitest/machine.ts";

const acme = principalOf("acme");

const recordWarnings = (): Logger & { readonly warnings: string[] } => {
  const warnings: string[] = [];
  const record = (message: string) => void warnings.push(message);
  return { warnings, debug: () => {}, info: () => {}, warn: record, error: record };
};

/** A folder with two deployments, `app` and `other`. */
const usedFolder = async (): Promise<Folder> => {
  const folder = folderWith();
  await using platform = await startLocalIn(folder.path, { runner: "process" });
  await platform.up(nodeSource(helloServer("app")));
  await platform.up(nodeSource(helloServer("other")), { function_name: "other" });
  return folder;
};

const listed = async ({ controlPlane }: TestPlatform) => {
  const all = (await controlPlane.listDeployments(acme))._unsafeUnwrap();
  return Object.fromEntries(all.map((deployment) => [deployment.name, deployment]));
};

test.each([
  ["garbage", (path: string) => writeFileSync(path, "not a database ".repeat(1000))],
  [
    "a folder",
    (path: string) => {
      rmSync(path, { force: true });
      mkdirSync(path);
    },
  ],
])("sets aside a billing.sqlite that is %s, logs it, and starts without usage", async (_what, spoil) => {
  using folder = await usedFolder();
  for (const ending of ["-wal", "-shm"]) rmSync(join(folder.path, `billing.sqlite${ending}`), { force: true });
  spoil(join(folder.path, "billing.sqlite"));
  const logger = recordWarnings();
  await using platform = await startLocalIn(folder.path, { runner: "process" }, {}, { logger });
  expect(logger.warnings).toContain(
    "set aside the damaged file of metered usage; the SQL table 'billing' starts empty",
  );
  const [kept] = readdirSync(join(folder.path, "set-aside"));
  expect(readdirSync(join(folder.path, "set-aside", kept as string))).toContain("billing.sqlite");
  const { app } = await listed(platform);
  expect(await (await fetch(app?.url as string)).text()).toBe("app");
  expect(platform.local.billing.ofAccount(acme.account)).toEqual([]);
});

test.each(["logs", "sql", "cache", "run", "spool", "tools", "sandbox"])(
  "starts, serves and deploys although a file has the name of the folder %s",
  async (name) => {
    using folder = await usedFolder();
    rmSync(join(folder.path, name), { recursive: true, force: true });
    writeFileSync(join(folder.path, name), "a file");
    await using platform = await startLocalIn(folder.path, { runner: "process" });
    const { app } = await listed(platform);
    expect(await (await fetch(app?.url as string)).text()).toBe("app");
    const url = await platform.up(nodeSource(helloServer("new")));
    expect(await (await fetch(url)).text()).toBe("new");
    (await platform.controlPlane.readLogs(acme, { deployment_name: "app" }))._unsafeUnwrap();
  },
);

/** The image of the server that responds with the text. */
const imageOf = (folder: string, text: string): string => {
  const owners = readdirSync(join(folder, "images")).map((owner) => join(folder, "images", owner));
  const images = owners.flatMap((owner) => readdirSync(owner).map((name) => join(owner, name)));
  const server = (image: string) => readFileSync(join(image, "app", "server.js"), "utf8");
  return images.find((image) => server(image).includes(`"${text}"`)) as string;
};

test.each([
  ["the image", (path: string) => rmSync(path, { recursive: true })],
  ["its manifest", (path: string) => rmSync(join(path, "image.json"))],
  ["the manifest's content", (path: string) => writeFileSync(join(path, "image.json"), '{"kind":')],
  ["its files", (path: string) => rmSync(join(path, "app"), { recursive: true })],
])("a deployment without %s is FAILED, its requests get the next step, and others work", async (_what, lose) => {
  using folder = await usedFolder();
  lose(imageOf(folder.path, "app"));
  await using platform = await startLocalIn(folder.path, { runner: "process" });
  const { app, other } = await listed(platform);
  expect(app).toMatchObject({ status: "FAILED", last_deploy: { status: "ERROR", reason: "image_not_found" } });
  expect(other).toMatchObject({ status: "READY", last_deploy: { status: "DONE" } });
  for (let n = 0; n < 2; n++) {
    const answer = await fetch(app?.url as string);
    expect(answer.status).toBe(503);
    expect(await answer.json()).toEqual({
      detail: "The image of this service is missing or damaged (image_not_found). Its owner must deploy it again.",
    });
  }
  expect(await (await fetch(other?.url as string)).text()).toBe("other");
  const { logs } = (await platform.controlPlane.readLogs(acme, { deployment_name: "app", limit: 100 }))._unsafeUnwrap();
  expect(logs.some(({ message }) => message.includes("Deploy the source again."))).toBe(true);
  expect(await platform.up(nodeSource(helloServer("app")))).toBe(app?.url);
  expect(await (await fetch(app?.url as string)).text()).toBe("app");
  expect((await listed(platform))["app"]).toMatchObject({ status: "READY", last_deploy: { status: "DONE" } });
});

test("concurrent lists check each image once, and report a lost image", async () => {
  using folder = await usedFolder();
  await using platform = await startLocalIn(folder.path, { runner: "process" });
  const inspect = vi.spyOn(ImageStore.prototype, "inspect");
  try {
    rmSync(imageOf(folder.path, "app"), { recursive: true });
    const lists = await Promise.all(Array.from({ length: 10 }, () => listed(platform)));
    expect(lists.map(({ app, other }) => [app?.status, other?.status])).toEqual(
      Array.from({ length: 10 }, () => ["FAILED", "READY"]),
    );
    expect(inspect).toHaveBeenCalledTimes(2);
  } finally {
    inspect.mockRestore();
  }
});

const pythonServer = `
import os
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"python")
HTTPServer(("", int(os.environ["PORT"])), Handler).serve_forever()
`;

test("a deployment without its Python environment is FAILED, and deploying its source again repairs it", async (context) => {
  needs(context, "python");
  using folder = folderWith();
  const start = () => startLocalIn(folder.path, { runner: "process" });
  const source = sourceOf({ "requirements.txt": "# nothing\n", "main.py": pythonServer });
  const platform = await start();
  await using stack = new AsyncDisposableStack();
  stack.use(platform);
  const url = await platform.up(source);
  const [account] = readdirSync(join(folder.path, "cache")).map((name) => join(folder.path, "cache", name, "venvs"));
  const venv = join(account as string, readdirSync(account as string)[0] as string);
  for (const lost of [".", "env", "complete", "env/pyvenv.cfg", "env/bin", "env/bin/python"].map((name) =>
    join(venv, name),
  )) {
    renameSync(lost, join(folder.path, "away"));
    expect((await listed(platform))["app"]).toMatchObject({
      status: "FAILED",
      last_deploy: { status: "ERROR", reason: "image_not_found" },
    });
    renameSync(join(folder.path, "away"), lost);
    expect((await listed(platform))["app"]).toMatchObject({ status: "READY", last_deploy: { status: "DONE" } });
  }
  for (const name of readdirSync(join(venv, "env"))) rmSync(join(venv, "env", name), { recursive: true });
  // The running instance has already loaded the files.
  await stack.disposeAsync();
  await using later = await start();
  const refused = await fetch(url);
  expect([refused.status, await refused.text()]).toEqual([503, expect.stringContaining("must deploy it again")]);
  expect((await later.controlPlane.check()).isOk()).toBe(true);
  expect(await later.up(source)).toBe(url);
  expect(await (await fetch(url)).text()).toBe("python");
});

test("is not ready while volumes cannot be written", async () => {
  using folder = folderWith();
  await using platform = await startLocalIn(folder.path, { runner: "process" });
  expect((await platform.controlPlane.check()).isOk()).toBe(true);
  rmSync(join(folder.path, "storage", "uploads"), { recursive: true });
  expect((await platform.controlPlane.check())._unsafeUnwrapErr()).toMatchObject({
    kind: "unavailable",
    down: ["volumes cannot be written"],
  });
  mkdirSync(join(folder.path, "storage", "uploads"));
  expect((await platform.controlPlane.check()).isOk()).toBe(true);
});
