/** The state file: transactions, the lock, older and newer versions, and other processes. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, test } from "vitest";
import { silent } from "../../../../adapters/local/accounts/identity.ts";
import { createLocalIdentity, createLocalProvider } from "../../../../adapters/local/index.ts";
import { openState, transaction } from "../../../../adapters/local/state/database.ts";
import { lockDataDir, lockServer } from "../../../../adapters/local/state/lock-data-dir.ts";
import { SettingRows } from "../../../../adapters/local/state/settings.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { principalOf, startLocalIn } from "../../../support/providers/local-platform.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-db-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const acme = principalOf("acme");
const repository = join(import.meta.dirname, "..", "..", "..", "..");

test("rolls back a transaction that throws, and runs the next one", () => {
  const db = openState(folder);
  const settings = new SettingRows(db);
  const failing = () =>
    transaction(db, () => {
      settings.set("a", "1");
      throw new Error("midway");
    });
  expect(failing).toThrow("midway");
  expect(settings.get("a")).toBeUndefined();
  expect(transaction(db, () => settings.set("a", "2"))).toBeUndefined();
  expect(settings.get("a")).toBe("2");
  db.close();
});

test("reports the error of a transaction that the database itself rolled back", () => {
  const db = openState(folder);
  const undone = () =>
    transaction(db, () => {
      db.exec("ROLLBACK");
      throw new Error("database or disk is full");
    });
  expect(undone).toThrow("database or disk is full");
  db.close();
});

test("reopens with the same deployments, URLs, keys and signing key", async () => {
  const source = nodeSource(helloServer("kept"));
  const first = await startLocalIn(folder, { runner: "process" });
  const url = await first.up(source, { memory: "512Mi", env: { A: "b" } });
  const key = (await first.local.ports.identity.keys.create(acme.account, "mine"))._unsafeUnwrap();
  const token = (await first.local.ports.identity.tokens.issue(acme))._unsafeUnwrap();
  const listed = (await first.controlPlane.listDeployments(acme))._unsafeUnwrap();
  const { ingressPort } = first.local;
  await first[Symbol.asyncDispose]();

  await using second = await startLocalIn(folder, { runner: "process" });
  expect((await second.controlPlane.listDeployments(acme))._unsafeUnwrap()).toEqual(listed);
  expect(second.local.ingressPort).toBe(ingressPort);
  expect(await (await fetch(url)).text()).toBe("kept");
  const { authenticator } = second.local.ports.identity;
  for (const credential of [
    { kind: "api_key", value: key.key } as const,
    { kind: "bearer", value: token.token } as const,
  ])
    expect((await authenticator.authenticate(credential))._unsafeUnwrap().account).toBe("acme");
});

test("refuses a data folder of a newer version with both versions and the next step, and changes nothing", async () => {
  const db = openState(folder);
  const { user_version: known } = db.prepare("PRAGMA user_version").get() as { user_version: number };
  db.exec("PRAGMA user_version = 99");
  db.close();
  const words = `has format 99, but this Portside reads formats up to ${known}. Start the newer Portside, or`;
  await expect(createLocalProvider({ dataDir: folder, ingressPort: 0 })).rejects.toThrow(words);
  // The attempt releases the folder.
  lockDataDir(folder).release();
  expect(readdirSync(folder).filter((name) => name === "images" || name === "run")).toEqual([]);
});

test("refuses a second server on the folder, in this process or another, until the first has ended", async () => {
  const words = /Another Portside server uses the data folder .*\. Stop it, or choose another folder with --data-dir/;
  const lock = lockDataDir(folder);
  await expect(createLocalProvider({ dataDir: folder, ingressPort: 0 })).rejects.toThrow(words);
  lock.release();

  const module = join(repository, "adapters/local/state/lock-data-dir.ts");
  const holder = `const { lockDataDir } = await import(${JSON.stringify(module)});
    lockDataDir(${JSON.stringify(folder)}); console.log("locked"); setInterval(() => {}, 1000);`;
  const other = spawn(process.execPath, ["--input-type=module", "-e", holder], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(other.stdout, "data");
  await expect(createLocalProvider({ dataDir: folder, ingressPort: 0 })).rejects.toThrow(words);
  // The folder must become free however the server ends.
  other.kill("SIGKILL");
  await once(other, "exit");
  const local = await createLocalProvider({ dataDir: folder, ingressPort: 0 });
  await local.close();
});

test("starts with a damaged lock file, and still admits only one server", async () => {
  lockDataDir(folder).release();
  const path = join(folder, "lock.sqlite");
  for (const garbage of ["short", "not a database ".repeat(1000)]) {
    writeFileSync(path, garbage);
    const warnings: string[] = [];
    const logger = { debug() {}, info() {}, warn: (message: string) => void warnings.push(message), error() {} };
    const lock = lockDataDir(folder, logger);
    expect(warnings).toEqual(["emptied the damaged lock file; nothing was lost"]);
    expect(() => lockDataDir(folder)).toThrow(/Another Portside server uses the data folder/);
    lock.release();
  }
});

test("a server waits until an earlier one has ended", async () => {
  lockDataDir(folder).release();
  mkdirSync(join(folder, "engine"));
  const first = await lockServer(folder, silent);
  let isSecond = false;
  const second = lockServer(folder, silent).then((lock) => {
    isSecond = true;
    return lock;
  });
  await sleep(150);
  expect(isSecond).toBe(false);
  first.release();
  (await second).release();
});

test("accepts a key that another process created, immediately, while the server runs", async () => {
  await using platform = await startLocalIn(folder, { runner: "process" });
  const command = ["hosts/cli/main.ts", "keys", "create", "--account", "others", "--json", "--data-dir", folder];
  const { stdout } = await promisify(execFile)(process.execPath, command, { cwd: repository });
  const { key, account } = JSON.parse(stdout);
  expect(account).toBe("others");
  const { authenticator, keys } = platform.local.ports.identity;
  const principal = await authenticator.authenticate({ kind: "api_key", value: key });
  expect(principal._unsafeUnwrap().account).toBe("others");
  expect(platform.local.claimFirstKey()).toBe(false);
  expect((await keys.list(principal._unsafeUnwrap().account))._unsafeUnwrap().length).toBe(1);
});

test("reads a folder's keys without its platform, and whether they belong to one account", async () => {
  const identity = createLocalIdentity(folder);
  (await identity.identity.keys.create(acme.account, "one"))._unsafeUnwrap();
  expect(identity.hasOtherAccounts(acme.account)).toBe(false);
  (await identity.identity.keys.create(principalOf("others").account, "two"))._unsafeUnwrap();
  expect(identity.hasOtherAccounts(acme.account)).toBe(true);
  identity.close();
});
