/** Data folders of a real platform with one example of everything, and what a platform on them must still serve. */
import { chmodSync, cpSync, existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import { helloServer, nodeSource, sourceOf } from "../archives/archives.ts";
import { type Folder, folderWith } from "../archives/folders.ts";
import { silentLogger } from "../logs/silent-logger.ts";
import { principalOf, startLocalIn, type TestPlatform } from "../providers/local-platform.ts";
import { has } from "../vitest/machine.ts";

const acme = principalOf("acme");
const APP = "still here";
const PYTHON = "still here, too";

/** Removes the tree, whatever the modes of its folders. */
const remove = (path: string): void => {
  const open = (folder: string): void => {
    chmodSync(folder, 0o700);
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory()) open(join(folder, entry.name));
  };
  open(path);
  rmSync(path, { recursive: true });
};

/** Restores the tree under the path and replaces the existing one. */
export const putFolder = (from: string, to: string): void => {
  if (existsSync(to)) remove(to);
  cpSync(from, to, { recursive: true, verbatimSymlinks: true });
};

export interface Bases extends Disposable {
  /** Where each case puts its folder. It is always the same, because Python environments contain their own path. */
  readonly live: string;
  /** After an orderly stop. */
  readonly stopped: string;
  /** After a kill, with changes that are only in the write-ahead log. */
  readonly killed: string;
  /** An earlier state of the same folder. */
  readonly older: string;
  /** An API key that is valid in all of them. */
  readonly apiKey: string;
}

const pythonServer = `
import os
from http.server import BaseHTTPRequestHandler, HTTPServer
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(${JSON.stringify(PYTHON)}.encode())
    def log_message(self, *_):
        pass
HTTPServer(("", int(os.environ["PORT"])), Handler).serve_forever()
`;

const addVolume = async ({ controlPlane, local, dataDir }: TestPlatform, name: string): Promise<void> => {
  (await controlPlane.createVolume(acme, { name }))._unsafeUnwrap();
  const state = (await local.provider.volumes.find(acme.account, name as VolumeName))._unsafeUnwrap();
  if (state.kind === "held") writeFileSync(join(dataDir, "storage", "volumes", state.volume.id, "photo.jpg"), name);
};

/**
 * Deploys a Python source with an environment, and removes its packages, because each case would copy their thousand
 * files.
 */
const addPython = async (platform: TestPlatform): Promise<void> => {
  if (!has("python")) return;
  const source = sourceOf({ "requirements.txt": "# nothing\n", "main.py": pythonServer });
  await platform.up(source, { function_name: "python" });
  const cache = join(platform.dataDir, "cache");
  for (const name of readdirSync(cache, { recursive: true, encoding: "utf8" }))
    if (/site-packages\/[^/]+$/.test(name)) rmSync(join(cache, name), { recursive: true, force: true });
};

export const startOn = (dataDir: string): Promise<TestPlatform> =>
  startLocalIn(dataDir, { runner: "process", drainSeconds: 0.1, graceSeconds: 0.1 }, {}, { logger: silentLogger });

export const makeBases = async (): Promise<Bases> => {
  const folders = Array.from({ length: 4 }, () => folderWith()) as [Folder, Folder, Folder, Folder];
  const [live, older, killed, stopped] = folders.map(({ path }) => path) as [string, string, string, string];
  let apiKey: string;
  {
    await using platform = await startOn(live);
    await addVolume(platform, "first");
    await platform.up(nodeSource(helloServer("an earlier revision")));
    await addPython(platform);
    apiKey = (await platform.local.ports.identity.keys.create(acme.account, "kept"))._unsafeUnwrap().key;
  }
  putFolder(live, older);
  {
    await using platform = await startOn(live);
    const fields = { schedule: "0 0 1 1 *", env: { WORD: "kept" } };
    await platform.up(nodeSource(helloServer(APP)), fields);
    await addVolume(platform, "second");
    await addVolume(platform, "deleted");
    (await platform.controlPlane.deleteVolume(acme, { name: "deleted" }))._unsafeUnwrap();
  }
  putFolder(live, stopped);
  {
    await using platform = await startOn(live);
    await addVolume(platform, "third");
    putFolder(live, killed);
  }
  return {
    live,
    stopped,
    killed,
    older,
    apiKey,
    [Symbol.dispose]: () => {
      for (const { path } of folders) remove(path);
    },
  };
};

/** The parts that must work after the damage. All others are optional. */
export interface Expected {
  readonly volumes: readonly string[];
  /** Deployments, their fields, keys and the trash. */
  readonly state: boolean;
  readonly app: boolean;
  readonly python: boolean;
  readonly logs: boolean;
  readonly billing: boolean;
  /** False if it may also report that it is not ready. */
  readonly ready: boolean;
}

const assertSame = (found: unknown, expected: unknown, what: string): void => {
  if (JSON.stringify(found) !== JSON.stringify(expected))
    throw new Error(`${what}: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
};

const checkVolumes = async ({ controlPlane }: TestPlatform, names: readonly string[]): Promise<void> => {
  const listed = (await controlPlane.listVolumes(acme))._unsafeUnwrap().map(({ name }) => name);
  const known = ["first", "second", "third"];
  assertSame(
    listed.filter((name) => !known.includes(name)),
    [],
    "unexpected volumes",
  );
  for (const name of new Set([...names, ...listed])) {
    const granted = await controlPlane.grantDownload(acme, { volume: name, path: "photo.jpg" });
    if (granted.isErr()) throw new Error(`volume ${name}: ${granted.error.message}`);
    assertSame(await (await fetch(granted.value.url)).text(), name, `volume ${name}`);
  }
};

const checkState = async ({ controlPlane }: TestPlatform, apiKey: string): Promise<void> => {
  const deployments = (await controlPlane.listDeployments(acme))._unsafeUnwrap();
  const app = deployments.find(({ name }) => name === "app");
  assertSame([app?.schedule?.cron, app?.env], ["0 0 1 1 *", ["WORD"]], "the deployment has");
  const trash = (await controlPlane.listTrash(acme))._unsafeUnwrap().map(({ name }) => name);
  assertSame(trash, ["deleted"], "the trash has");
  const caller = await controlPlane.authenticate({ apiKey });
  assertSame(caller.isOk() && caller.value.account, acme.account, "the API key is for");
};

const checkService = async ({ controlPlane }: TestPlatform, name: string, text: string): Promise<void> => {
  const deployments = (await controlPlane.listDeployments(acme))._unsafeUnwrap();
  const found = deployments.find((deployment) => deployment.name === name);
  assertSame(found?.status, "READY", `${name} is`);
  assertSame(await (await fetch(found?.url as string)).text(), text, `${name} answers`);
};

/** Checks that a missing or damaged image is reported, and that requests to its service return 503. */
const checkBroken = async ({ controlPlane }: TestPlatform): Promise<void> => {
  for (const { name, status, last_deploy, url } of (await controlPlane.listDeployments(acme))._unsafeUnwrap()) {
    if (status === "READY") continue;
    assertSame([status, last_deploy?.reason], ["FAILED", "image_not_found"], `${name} is`);
    assertSame((await fetch(url)).status, 503, `${name} answers`);
  }
};

const checkLogs = async ({ controlPlane }: TestPlatform, isWhole: boolean): Promise<void> => {
  const page = await controlPlane.readLogs(acme, { deployment_name: "app", limit: 1000 });
  if (page.isErr()) throw new Error(`the log: ${page.error.message}`);
  const ends = page.value.logs.filter(({ message }) => message.includes("serves all traffic")).length;
  if (isWhole && ends < 2) throw new Error(`the log has ${ends} of 2 ends of deploys`);
};

/** Throws if an expected part is not served. */
export const checkServed = async (platform: TestPlatform, bases: Bases, expected: Expected): Promise<void> => {
  await checkVolumes(platform, expected.volumes);
  if (expected.state) await checkState(platform, bases.apiKey);
  if (expected.app) await checkService(platform, "app", APP);
  if (expected.python && has("python")) await checkService(platform, "python", PYTHON);
  await checkBroken(platform);
  await checkLogs(platform, expected.logs);
  const usage = platform.local.billing.ofAccount(acme.account).filter(({ resource }) => resource.name === "app");
  if (expected.billing && usage.length === 0) throw new Error("the metered usage is lost");
  const ready = await platform.controlPlane.check();
  if (expected.ready && ready.isErr()) throw new Error(`not ready: ${ready.error.message}`);
};
