/** A server does not recreate a data folder that is removed while it runs, and reports it. */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { bytesOf, helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { principalOf, startLocalIn, type TestPlatform } from "../../../support/providers/local-platform.ts";

const acme = principalOf("acme");
const REMOVED = /the data folder was removed or replaced/;

/** Everything that creates folders: a deploy, logs of a new account, SQL, volumes. The results do not matter. */
const use = async ({ controlPlane }: TestPlatform): Promise<readonly unknown[]> => [
  await controlPlane.receiveSource(acme, bytesOf(nodeSource(helloServer("lost")))),
  await controlPlane.createVolume(acme, { name: "lost" }),
  await controlPlane.readLogs(acme, { deployment_name: "app" }),
  await controlPlane.readLogs(principalOf("new"), { deployment_name: "app" }),
  await controlPlane.runSql(acme, { query: "SELECT 1" }),
];

test("does not recreate a removed data folder, and is not ready", async () => {
  using parent = folderWith();
  const dataDir = join(parent.path, "data");
  const heard: unknown[] = [];
  const logger = { debug() {}, info() {}, warn() {}, error: (message: string) => void heard.push(message) };
  const umask = process.umask(0o022);
  try {
    await using platform = await startLocalIn(dataDir, { runner: "process" }, {}, { logger });
    await platform.up(nodeSource(helloServer("app")));
    expect((await platform.controlPlane.check()).isOk()).toBe(true);
    rmSync(dataDir, { recursive: true });
    await use(platform);
    expect(existsSync(dataDir) ? readdirSync(dataDir, { recursive: true }) : []).toEqual([]);
    expect(existsSync(dataDir)).toBe(false);
    expect((await platform.controlPlane.check())._unsafeUnwrapErr().message).toMatch(REMOVED);
    expect(heard).toContainEqual(expect.stringMatching(REMOVED));
  } finally {
    process.umask(umask);
  }
  expect(existsSync(dataDir)).toBe(false);
});

test("is not ready with another folder in its place, and ready again with the original one", async () => {
  using parent = folderWith();
  const [dataDir, away] = [join(parent.path, "data"), join(parent.path, "away")];
  await using platform = await startLocalIn(dataDir, { runner: "process" });
  renameSync(dataDir, away);
  for (const name of ["spool", "logs", "storage/uploads"]) mkdirSync(join(dataDir, name), { recursive: true });
  expect((await platform.controlPlane.check())._unsafeUnwrapErr().message).toMatch(REMOVED);
  rmSync(dataDir, { recursive: true });
  renameSync(away, dataDir);
  expect((await platform.controlPlane.check()).isOk()).toBe(true);
});
