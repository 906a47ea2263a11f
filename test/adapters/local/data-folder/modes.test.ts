/** Only its user may read a data folder, whatever the umask is and whatever modes an earlier version left. */
import { chmodSync, lchownSync, lstatSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, test } from "vitest";
import { createLocalIdentity, createLocalProvider, DataFolderError } from "../../../../adapters/local/index.ts";
import { inOnePiece } from "../../../models/upload-url.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { principalOf, startLocalIn } from "../../../support/providers/local-platform.ts";
import { needs } from "../../../support/vitest/machine.ts";

const acme = principalOf("acme");
const umask = process.umask();
afterEach(() => void process.umask(umask));

/** Content of services and builds, which the parent folders protect. */
const tenants = [
  /^storage\/volumes\/./,
  /^images\/[^/]+\/[^/]+\/app(\/|$)/,
  /^cache\/[^/]+\/./,
  /^run\/[^/]+\//,
  /^sandbox\/./,
  /^tools\/./,
];

/** Files that other users could read, as `path mode`. */
const reachable = (folder: string, path = ""): string[] => {
  const stats = lstatSync(join(folder, path));
  if (tenants.some((tenant) => tenant.test(path))) return [];
  const own = (stats.mode & 0o077) === 0 ? [] : [`${path || "."} ${(stats.mode & 0o777).toString(8)}`];
  const inner = stats.isDirectory() ? readdirSync(join(folder, path)) : [];
  return [...own, ...inner.flatMap((name) => reachable(folder, join(path, name)))];
};

/** Uses everything that creates files: a deploy, a volume, an upload, logs, and SQL if installed. */
const use = async (folder: string, whileItRuns: () => void = () => {}): Promise<void> => {
  await using platform = await startLocalIn(folder, { runner: "process" });
  const { controlPlane } = platform;
  const url = await platform.up(nodeSource(helloServer("used")), { volumes: { "/tmp/modes": "data" } });
  expect(await (await fetch(url)).text()).toBe("used");
  const grant = (await controlPlane.grantUpload(acme, { volume: "data", object: "a/b.txt" }))._unsafeUnwrap();
  const put = await fetch(inOnePiece(grant).url, { method: "PUT", body: "object" });
  expect(put.ok).toBe(true);
  (await controlPlane.readLogs(acme, { deployment_name: "app" }))._unsafeUnwrap();
  whileItRuns();
};

describe.each(["000", "022", "077"])("with umask %s", (mask) => {
  test("other users can read nothing of a used data folder, during and after the run", async () => {
    using parent = folderWith();
    const folder = join(parent.path, "data");
    process.umask(Number.parseInt(mask, 8));
    await use(folder, () => expect(reachable(folder)).toEqual([]));
    expect(reachable(folder)).toEqual([]);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
    expect(statSync(join(folder, "state.sqlite")).mode & 0o777).toBe(0o600);
  });
});

test("removes other users' access that an earlier version left, and logs that", async () => {
  using folder = folderWith();
  await use(folder.path);
  const open = (path: string): void => {
    const isFolder = lstatSync(path).isDirectory();
    chmodSync(path, isFolder ? 0o755 : 0o644);
    if (isFolder) for (const name of readdirSync(path)) open(join(path, name));
  };
  open(folder.path);
  expect(reachable(folder.path).length).toBeGreaterThan(10);
  const warnings: string[] = [];
  const logger = { debug() {}, info() {}, warn: (message: string) => void warnings.push(message), error() {} };
  await using _platform = await startLocalIn(folder.path, { runner: "process" }, {}, { logger });
  expect(reachable(folder.path)).toEqual([]);
  expect(warnings).toContain("removed other users' access to the data folder");
});

test("creating a key also removes other users' access", () => {
  using folder = folderWith();
  chmodSync(folder.path, 0o755);
  createLocalIdentity(folder.path).close();
  expect(reachable(folder.path)).toEqual([]);
});

test("refuses a folder of another user, and changes nothing in it", async (context) => {
  needs(context, "root");
  using folder = folderWith();
  chmodSync(folder.path, 0o755);
  lchownSync(folder.path, 65_534, 65_534);
  const refused = createLocalProvider({ dataDir: folder.path, ingressPort: 0 });
  await expect(refused).rejects.toThrow(DataFolderError);
  await expect(refused).rejects.toMatchObject({ kind: "not_owner", path: folder.path });
  await expect(refused).rejects.toThrow(/belongs to user 65534, but Portside runs as user 0.*chown.*--data-dir/);
  expect(() => createLocalIdentity(folder.path)).toThrow(/belongs to user 65534/);
  expect(readdirSync(folder.path)).toEqual([]);
  expect(statSync(folder.path).mode & 0o777).toBe(0o755);
});

test("opens a folder for which even its own user has no permissions", async () => {
  using folder = folderWith();
  mkdirSync(join(folder.path, "spool"));
  writeFileSync(join(folder.path, "spool", "x"), "");
  chmodSync(folder.path, 0);
  await using _platform = await startLocalIn(folder.path, { runner: "process" });
  expect(statSync(folder.path).mode & 0o777).toBe(0o700);
});
