/** A backup of a data folder, created while the server runs, restores to a folder that a server can use. */
import {
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  BackupError,
  backupDataFolder,
  createLocalIdentity,
  DataFolderError,
  restoreDataFolder,
} from "../../../../adapters/local/index.ts";
import { inOnePiece } from "../../../models/upload-url.ts";
import { helloServer, nodeSource, sourceOf } from "../../../support/archives/archives.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { principalOf, startLocalIn, type TestPlatform } from "../../../support/providers/local-platform.ts";
import { fingerprint } from "../../../support/sandbox/hostile-builds.ts";
import { needs } from "../../../support/vitest/machine.ts";

const acme = principalOf("acme");

const start = (dataDir: string) =>
  startLocalIn(dataDir, { runner: "process", drainSeconds: 0.1, graceSeconds: 0.1 }, {}, { logger: silentLogger });

const put = async ({ controlPlane }: TestPlatform, volume: string, object: string, body: string): Promise<void> => {
  const grant = (await controlPlane.grantUpload(acme, { volume, object }))._unsafeUnwrap();
  expect((await fetch(inOnePiece(grant).url, { method: "PUT", body })).ok).toBe(true);
};

const get = async ({ controlPlane }: TestPlatform, volume: string, path: string): Promise<string> => {
  const { url } = (await controlPlane.grantDownload(acme, { volume, path }))._unsafeUnwrap();
  return (await fetch(url)).text();
};

const deepest = "a/".repeat(100);

/** Creates deployments, volumes, objects, trash and logs. */
const fill = async (platform: TestPlatform): Promise<void> => {
  const { controlPlane } = platform;
  const url = await platform.up(nodeSource(helloServer("kept")), {
    volumes: { "/tmp/backup": "data" },
    env: { SECRET: "of a service" },
  });
  expect(await (await fetch(url)).text()).toBe("kept");
  (await controlPlane.createVolume(acme, { name: "gone" }))._unsafeUnwrap();
  (await controlPlane.createVolume(acme, { name: "empty" }))._unsafeUnwrap();
  await put(platform, "data", "hello.txt", "hello");
  await put(platform, "data", "größe/Ω.txt", "unicode");
  await put(platform, "data", `${deepest}deep.txt`, "deep");
  await put(platform, "data", "empty.bin", "");
  await put(platform, "data", "large.bin", "0123456789".repeat(300_000));
  await put(platform, "gone", "in the trash.txt", "trash");
  (await controlPlane.deleteVolume(acme, { name: "gone" }))._unsafeUnwrap();
};

const check = async (platform: TestPlatform): Promise<void> => {
  const { controlPlane } = platform;
  const [app] = (await controlPlane.listDeployments(acme))._unsafeUnwrap();
  expect(app).toMatchObject({ name: "app" });
  expect(await (await fetch(app?.url as string)).text()).toBe("kept");
  expect(await get(platform, "data", "hello.txt")).toBe("hello");
  expect(await get(platform, "data", "größe/Ω.txt")).toBe("unicode");
  expect(await get(platform, "data", `${deepest}deep.txt`)).toBe("deep");
  expect(await get(platform, "data", "empty.bin")).toBe("");
  expect(await get(platform, "data", "large.bin")).toBe("0123456789".repeat(300_000));
  (await controlPlane.restoreVolume(acme, { name: "gone" }))._unsafeUnwrap();
  expect(await get(platform, "gone", "in the trash.txt")).toBe("trash");
  expect((await controlPlane.listVolumes(acme))._unsafeUnwrap().map(({ name }) => name)).toContain("empty");
  const { logs } = (await controlPlane.readLogs(acme, { deployment_name: "app" }))._unsafeUnwrap();
  expect(logs.length).toBeGreaterThan(0);
};

const modesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: "utf8" }).map(
    (path) => `${path} ${(statSync(join(folder, path)).mode & 0o777).toString(8)}`,
  );

test("restores and serves a backup of a running server", async () => {
  using folder = folderWith();
  const [data, file, restored] = ["data", "backup.tar.gz", "restored"].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ];
  let key: string;
  {
    await using platform = await start(data);
    await fill(platform);
    key = (await platform.local.identity.keys.create(acme.account, "kept"))._unsafeUnwrap().key;
    let progress = 0;
    const summary = await backupDataFolder({ dataDir: data, file, onProgress: (bytes) => (progress += bytes) });
    expect(summary).toEqual({ file, bytes: statSync(file).size, deployments: 1, volumes: 2, objects: 6, leftOut: [] });
    expect(progress).toBeGreaterThan(3_000_000);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  }
  const summary = await restoreDataFolder({ file, dataDir: restored });
  expect(summary).toMatchObject({ dataDir: restored, deployments: 1, volumes: 2, objects: 6, kept: undefined });
  expect(readdirSync(folder.path).sort()).toEqual(["backup.tar.gz", "data", "restored"]);
  expect(statSync(restored).mode & 0o777).toBe(0o700);
  expect(
    modesBelow(restored).filter(
      (one) => / [0-7][1-7][0-7]$| [0-7]{2}[1-7]$/.test(one) && !/^(storage\/volumes\/.|images\/.*\/app)/.test(one),
    ),
  ).toEqual([]);
  await using platform = await start(restored);
  await check(platform);
  const principal = (await platform.controlPlane.authenticate({ apiKey: key }))._unsafeUnwrap();
  expect(principal.account).toBe("acme");
});

test("a restore into a used folder keeps the previous folder, and restores the same content", async () => {
  using folder = folderWith();
  const [data, file, again] = ["data", "backup.tar.gz", "again.tar.gz"].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ];
  {
    await using platform = await start(data);
    await fill(platform);
  }
  await backupDataFolder({ dataDir: data, file });
  const before = fingerprint(data);
  await restoreDataFolder({ file, dataDir: data, replace: true });
  const kept = readdirSync(folder.path).find((name) => name.startsWith("data.before-")) as string;
  expect(fingerprint(join(folder.path, kept))).toBe(before);
  await backupDataFolder({ dataDir: data, file: again });
  // A backup has times in milliseconds, not nanoseconds.
  const entries = (path: string) => fingerprint(join(path, "storage", "volumes")).replaceAll(/(\d{13})\.\d+/g, "$1");
  expect(entries(data)).toBe(entries(join(folder.path, kept)));
  await using platform = await start(data);
  await check(platform);
});

const rejection = async (work: Promise<unknown>): Promise<Error> => {
  const outcome = await work.then(
    () => undefined,
    (error: Error) => error,
  );
  expect(outcome, "it was not refused").toBeDefined();
  return outcome as Error;
};

/** A data folder without a server. */
const smallData = (path: string): void => {
  createLocalIdentity(path).close();
};

test("does not overwrite a file, or write into the data folder", async () => {
  using folder = folderWith({ "taken.tar.gz": "other" });
  const [data, taken] = [join(folder.path, "data"), join(folder.path, "taken.tar.gz")];
  smallData(data);
  const refused = await rejection(backupDataFolder({ dataDir: data, file: taken }));
  expect(refused).toBeInstanceOf(BackupError);
  expect(refused.message).toBe(`${taken} already exists. Choose another name, or replace it with --force.`);
  expect(readFileSync(taken, "utf8")).toBe("other");
  await backupDataFolder({ dataDir: data, file: taken, replace: true });
  await restoreDataFolder({ file: taken, dataDir: join(folder.path, "restored") });
  for (const inside of ["backup.tar.gz", "storage/backup.tar.gz"]) {
    mkdirSync(join(data, "storage"), { recursive: true });
    const file = join(data, inside);
    expect((await rejection(backupDataFolder({ dataDir: data, file }))).message).toBe(
      `${file} is in the data folder. Choose a file outside of it.`,
    );
  }
  const nothing = join(folder.path, "nothing");
  const missing = await rejection(backupDataFolder({ dataDir: nothing, file: join(folder.path, "x.tar.gz") }));
  expect(missing).toBeInstanceOf(DataFolderError);
  expect(missing.message).toBe(`${nothing} contains no data. Name the data folder with --data-dir.`);
  expect((await rejection(backupDataFolder({ dataDir: data, file: folder.path, replace: true }))).message).toContain(
    "is a folder",
  );
});

test("does not restore to a folder with content, or one that a server uses", async () => {
  using folder = folderWith();
  const [data, file, target] = ["data", "backup.tar.gz", "target"].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ];
  smallData(data);
  await backupDataFolder({ dataDir: data, file });
  mkdirSync(target);
  writeFileSync(join(target, "note.txt"), "mine");
  const refused = await rejection(restoreDataFolder({ file, dataDir: target }));
  expect(refused).toBeInstanceOf(BackupError);
  expect(refused.message).toContain(`${target} is not empty.`);
  const { kept } = await restoreDataFolder({ file, dataDir: target, replace: true });
  expect(readFileSync(join(kept as string, "note.txt"), "utf8")).toBe("mine");
  await using _platform = await start(target);
  const before = readdirSync(folder.path);
  const used = await rejection(restoreDataFolder({ file, dataDir: target, replace: true }));
  expect(used).toMatchObject({ kind: "in_use" });
  expect(used.message).toContain(`A Portside server uses the data folder ${target}. Stop it`);
  expect(readdirSync(folder.path)).toEqual(before);
});

test("a Python service and its environment's programs run after a restore to a different path", async (context) => {
  needs(context, "python");
  using folder = folderWith();
  const [data, file, restored] = ["data", "backup.tar.gz", "restored"].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ];
  const source = sourceOf({
    "requirements.txt": "# nothing\n",
    // The program contains the path of its interpreter in the environment.
    Procfile: "web: pip --version && exec python3 -u main.py",
    "main.py": [
      "import http.server, os, sys",
      "class Answer(http.server.BaseHTTPRequestHandler):",
      "    def do_GET(self):",
      "        self.send_response(200); self.end_headers(); self.wfile.write(sys.prefix.encode())",
      "http.server.HTTPServer(('127.0.0.1', int(os.environ['PORT'])), Answer).serve_forever()",
    ].join("\n"),
  });
  {
    await using platform = await start(data);
    expect(await (await fetch(await platform.up(source))).text()).toContain(`${data}/cache/`);
  }
  await backupDataFolder({ dataDir: data, file });
  await restoreDataFolder({ file, dataDir: restored });
  renameSync(data, `${data}.gone`);
  await using platform = await start(restored);
  const [app] = (await platform.controlPlane.listDeployments(acme))._unsafeUnwrap();
  expect(await (await fetch(app?.url as string)).text()).toContain(`${restored}/cache/`);
});

test("a restore by root keeps the users of tenants, or assigns everything to the user of the given folder", async (context) => {
  needs(context, "root");
  using folder = folderWith();
  const [data, file, restored, other] = ["data", "backup.tar.gz", "restored", "other"].map((name) =>
    join(folder.path, name),
  ) as [string, string, string, string];
  smallData(data);
  const inside = "storage/quarantine/one/volume";
  mkdirSync(join(data, inside), { recursive: true });
  writeFileSync(join(data, inside, "of the server"), "");
  writeFileSync(join(data, inside, "of an account"), "");
  symlinkSync("nowhere", join(data, inside, "link"));
  for (const name of ["of an account", "link", ""]) lchownSync(join(data, inside, name), 2_100_000_007, 2_100_000_007);
  await backupDataFolder({ dataDir: data, file });
  await restoreDataFolder({ file, dataDir: restored });
  const owners = (path: string) =>
    [
      "state.sqlite",
      "state.check",
      inside,
      ...["of the server", "of an account", "link"].map((name) => join(inside, name)),
    ].map((name) => lstatSync(join(path, name)).uid);
  expect(owners(restored)).toEqual([0, 0, 2_100_000_007, 0, 2_100_000_007, 2_100_000_007]);
  mkdirSync(other);
  lchownSync(other, 12_345, 12_345);
  await restoreDataFolder({ file, dataDir: other });
  expect(owners(other)).toEqual(Array(6).fill(12_345));
  expect(lstatSync(other).uid).toBe(12_345);
});

/** A size that no other chunk of a backup has. */
const LAST_PIECE = 12_345;

test("includes a volume or an image that appears during the backup", async () => {
  using folder = folderWith();
  const [data, file, restored] = ["data", "backup.tar.gz", "restored"].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ];
  {
    await using platform = await start(data);
    await fill(platform);
    let calls = 0;
    const onProgress = async (bytes: number) => {
      // By then the state was copied once, and the first volumes were listed.
      if (++calls === 5) {
        (await platform.controlPlane.createVolume(acme, { name: "late" }))._unsafeUnwrap();
        await put(platform, "late", "late.txt", "x".repeat((1 << 21) + LAST_PIECE));
        await platform.up(nodeSource(helloServer("late")), { function_name: "late" });
      }
      // This chunk ends the object above. By then, the state was copied again.
      if (bytes === LAST_PIECE) {
        (await platform.controlPlane.createVolume(acme, { name: "later" }))._unsafeUnwrap();
        await put(platform, "later", "later.txt", "later");
      }
    };
    const summary = await backupDataFolder({ dataDir: data, file, onProgress });
    expect(summary).toMatchObject({ deployments: 2, volumes: 4 });
  }
  await restoreDataFolder({ file, dataDir: restored });
  await using platform = await start(restored);
  expect((await get(platform, "late", "late.txt")).length).toBe((1 << 21) + LAST_PIECE);
  expect(await get(platform, "later", "later.txt")).toBe("later");
  const late = (await platform.controlPlane.listDeployments(acme))._unsafeUnwrap().find(({ name }) => name === "late");
  expect(await (await fetch(late?.url as string)).text()).toBe("late");
});
