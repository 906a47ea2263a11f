/** Services that change their volumes during a backup, and forged backups. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { backupDataFolder, createLocalIdentity, restoreDataFolder } from "../../../../adapters/local/index.ts";
import { openState } from "../../../../adapters/local/state/database.ts";
import { VolumeRows } from "../../../../adapters/local/state/volumes.ts";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { Timestamp } from "../../../../core/domain/wire/instant.ts";
import type { VolumeName } from "../../../../core/domain/wire/names.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { randomFrom } from "../../../support/crashes/crash.ts";
import { type Forged, forgeBackup } from "../../../support/crashes/forged-backup.ts";
import { canaries, fingerprint } from "../../../support/sandbox/hostile-builds.ts";
import { needs } from "../../../support/vitest/machine.ts";

const VOLUME = "storage/volumes/vol-1";

/** A data folder with one volume. */
const dataWith = (path: string, files: Readonly<Record<string, string>> = { "kept.txt": "kept" }): string => {
  const db = openState(path);
  new VolumeRows(db).insert({
    id: "vol-1",
    owner: "acme" as AccountId,
    name: "data" as VolumeName,
    createdAt: "2026-01-01T00:00:00Z" as Timestamp,
  });
  db.close();
  const volume = join(path, VOLUME);
  mkdirSync(volume, { recursive: true });
  for (const [name, text] of Object.entries(files)) writeFileSync(join(volume, name), text);
  return volume;
};

const setUp = () => {
  const folder = folderWith(Object.fromEntries(Object.entries(canaries).map(([at, text]) => [`outside/${at}`, text])));
  const at = (name: string) => join(folder.path, name);
  return {
    data: at("data"),
    file: at("backup.tar.gz"),
    restored: at("restored"),
    outside: at("outside"),
    names: () => readdirSync(folder.path).sort(),
    [Symbol.dispose]: () => folder[Symbol.dispose](),
  };
};

const contentOf = (file: string): string => gunzipSync(readFileSync(file)).toString("latin1");

/** Swaps each folder with its link, repeatedly. */
const flipping = `
const { renameSync } = require("node:fs"), { join } = require("node:path");
const [volume, ...names] = process.argv.slice(1);
process.stdout.write("begun");
for (;;) for (const name of names) {
  renameSync(join(volume, name), join(volume, name + ".tmp"));
  renameSync(join(volume, name + ".link"), join(volume, name));
  renameSync(join(volume, name + ".tmp"), join(volume, name + ".link"));
}`;

describe("a backup", () => {
  test("stores links as links, leaves out special files, and keeps names that are not UTF-8", async (context) => {
    needs(context, "tar");
    using place = setUp();
    const volume = dataWith(place.data);
    const raw = Buffer.concat([Buffer.from(`${volume}/`), Buffer.from([0x62, 0xff, 0xfe])]);
    writeFileSync(raw, "raw");
    symlinkSync(join(place.outside, "etc"), join(volume, "folder-link"));
    symlinkSync(join(place.outside, "data", "state.sqlite"), join(volume, "file-link"));
    symlinkSync("nowhere", join(volume, "broken"));
    execFileSync("mkfifo", [join(volume, "pipe")]);
    const server = createServer().listen(join(volume, "socket"));
    await new Promise((resolve) => server.once("listening", resolve));
    const before = fingerprint(place.outside);
    const { leftOut, objects } = await backupDataFolder({ dataDir: place.data, file: place.file });
    server.close();
    expect(leftOut).toEqual([{ reason: "not a file, a folder or a link", count: 2, example: `${VOLUME}/pipe` }]);
    expect(objects).toBe(2);
    for (const text of Object.values(canaries).filter((one) => one.length > 5))
      expect(contentOf(place.file)).not.toContain(text);
    execFileSync("tar", ["-tzf", place.file], { stdio: "pipe" });
    await restoreDataFolder({ file: place.file, dataDir: place.restored });
    const restored = join(place.restored, VOLUME);
    expect(readlinkSync(join(restored, "folder-link"))).toBe(join(place.outside, "etc"));
    expect(readlinkSync(join(restored, "file-link"))).toBe(join(place.outside, "data", "state.sqlite"));
    expect(readlinkSync(join(restored, "broken"))).toBe("nowhere");
    expect(readFileSync(Buffer.concat([Buffer.from(`${restored}/`), raw.subarray(-3)]), "utf8")).toBe("raw");
    expect(fingerprint(place.outside)).toBe(before);
  });

  test("reads nothing outside while folders and links are swapped", async () => {
    using place = setUp();
    const names = Array.from({ length: 40 }, (_, n) => `folder-${n}`);
    const volume = dataWith(place.data);
    for (const name of names) {
      mkdirSync(join(volume, name));
      writeFileSync(join(volume, name, "shadow"), "mine");
      symlinkSync(join(place.outside, "etc"), join(volume, `${name}.link`));
    }
    const before = fingerprint(place.outside);
    const flipper = spawn(process.execPath, ["-e", flipping, volume, ...names], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      await once(flipper.stdout as Readable, "data");
      for (let n = 0; n < 10; n++) {
        await backupDataFolder({ dataDir: place.data, file: place.file, replace: true });
        expect(contentOf(place.file)).not.toContain(canaries["etc/shadow"]);
      }
    } finally {
      const ended = once(flipper, "exit");
      flipper.kill("SIGKILL");
      await ended;
    }
    await restoreDataFolder({ file: place.file, dataDir: place.restored });
    expect(fingerprint(place.outside)).toBe(before);
    for (const name of readdirSync(join(place.restored, VOLUME)))
      if (lstatSync(join(place.restored, VOLUME, name)).isDirectory())
        expect(readFileSync(join(place.restored, VOLUME, name, "shadow"), "utf8")).toBe("mine");
  });

  test.each(["grows", "shrinks"])("stays readable if a large file %s while it is read", async (how) => {
    using place = setUp();
    const size = 5 << 20;
    const volume = dataWith(place.data, { large: "x".repeat(size), "other.txt": "other" });
    let written = 0;
    const change = (bytes: number) => {
      const wasBefore = written < 1 << 20;
      written += bytes;
      if (!wasBefore || written < 1 << 20) return;
      if (how === "grows") writeFileSync(join(volume, "large"), "y".repeat(size), { flag: "a" });
      else truncateSync(join(volume, "large"), 2 << 20);
    };
    const { leftOut } = await backupDataFolder({ dataDir: place.data, file: place.file, onProgress: change });
    expect(leftOut.map(({ count }) => count)).toEqual(how === "grows" ? [] : [1]);
    await restoreDataFolder({ file: place.file, dataDir: place.restored });
    const restored = readFileSync(join(place.restored, VOLUME, "large"), "latin1");
    const expected = how === "grows" ? "x".repeat(size) : "x".repeat(2 << 20).padEnd(size, "\0");
    expect(restored === expected).toBe(true);
    expect(readFileSync(join(place.restored, VOLUME, "other.txt"), "utf8")).toBe("other");
  });

  test("contains the old or the new content of an object that is replaced meanwhile", async () => {
    using place = setUp();
    const volume = dataWith(place.data, { object: "old".repeat(1 << 20) });
    const half = join(place.data, "half");
    let pieces = 0;
    const replace = () => {
      if (++pieces % 8 !== 0) return;
      writeFileSync(half, "new".repeat(1 << 20));
      renameSync(half, join(volume, "object"));
    };
    await backupDataFolder({ dataDir: place.data, file: place.file, onProgress: replace });
    expect(pieces).toBeGreaterThan(16);
    await restoreDataFolder({ file: place.file, dataDir: place.restored });
    const content = readFileSync(join(place.restored, VOLUME, "object"), "utf8");
    expect(["old".repeat(1 << 20), "new".repeat(1 << 20)].includes(content)).toBe(true);
  });

  test("restores large empty parts as sparse files", async () => {
    using place = setUp();
    const volume = dataWith(place.data, { sparse: "start" });
    truncateSync(join(volume, "sparse"), 16 << 20);
    await backupDataFolder({ dataDir: place.data, file: place.file });
    await restoreDataFolder({ file: place.file, dataDir: place.restored });
    const { size, blocks } = statSync(join(place.restored, VOLUME, "sparse"));
    expect(size).toBe(16 << 20);
    expect(blocks * 512).toBeLessThan(2 << 20);
  });
});

const folders = (...paths: readonly string[]) => paths.map((path) => ({ path, type: "folder" as const }));
const volumes = folders("storage", "storage/volumes", VOLUME);

const refused = async (place: ReturnType<typeof setUp>, bytes: Buffer): Promise<string> => {
  writeFileSync(place.file, bytes);
  const names = place.names();
  const before = fingerprint(place.outside);
  const error = await restoreDataFolder({ file: place.file, dataDir: place.restored }).then(
    () => undefined,
    (caught: Error) => caught,
  );
  expect(error?.name).toBe("BackupError");
  expect(error?.message).toMatch(/Nothing was changed\. Restore /);
  expect(place.names()).toEqual(names);
  expect(fingerprint(place.outside)).toBe(before);
  return (error?.message ?? "").replace(`${place.file} `, "");
};

describe("a restore refuses", () => {
  const link = (path: string, target: string) => ({ path, type: "link" as const, target });
  const forged: Readonly<Record<string, readonly [Forged, RegExp]>> = {
    "a newer format": [
      { head: { format: 2 } },
      /^was created by a newer Portside \(format 2; this version reads format 1\)/,
    ],
    "a backup without a state": [{ entries: volumes }, /^is damaged/],
    "a link on the way": [
      { entries: [...volumes, link(`${VOLUME}/out`, "OUTSIDE"), { path: `${VOLUME}/out/etc/new`, content: "x" }] },
      /comes before its folder/,
    ],
    "a file through a link": [
      { entries: [...volumes, link(`${VOLUME}/out`, "OUTSIDE/etc/new"), { path: `${VOLUME}/out`, content: "x" }] },
      /occurs twice/,
    ],
    "a link instead of a volume": [{ entries: [...volumes.slice(0, 2), link(VOLUME, "OUTSIDE")] }, /is a link/],
    "a link instead of the logs": [{ entries: [link("logs", "OUTSIDE")] }, /is a link/],
    "a link instead of the state": [{ entries: [link("state.sqlite", "OUTSIDE/data/state.sqlite")] }, /is a link/],
    "a link instead of an app": [
      { entries: [...folders("images", "images/a", "images/a/b"), link("images/a/b/app", "OUTSIDE")] },
      /is a link/,
    ],
    "a lock": [{ entries: [{ path: "lock.sqlite", content: "x" }] }, /is not part of a data folder/],
    "a foreign file": [{ entries: [{ path: "other", content: "x" }] }, /is not part of a data folder/],
    "a repeated folder": [{ entries: [...volumes, ...folders(VOLUME)] }, /occurs twice/],
    "a file without its folder": [{ entries: [{ path: `${VOLUME}/x`, content: "x" }] }, /comes before its folder/],
    "a path that leads out": [
      { entries: [{ path: `${VOLUME}/../../../../outside/new`, content: "x" }] },
      /^is damaged/,
    ],
  };

  test.each(Object.entries(forged))("%s", async (_what, [parts, words]) => {
    using place = setUp();
    const entries = parts.entries?.map((entry) =>
      "target" in entry ? { ...entry, target: String(entry.target).replace("OUTSIDE", place.outside) } : entry,
    );
    expect(await refused(place, gzipSync(forgeBackup({ ...parts, ...(entries && { entries }) })))).toMatch(words);
  });

  test.each([
    ["an empty file", Buffer.alloc(0), /^is truncated/],
    ["a text", Buffer.from("hello"), /^was not written by 'portside backup'/],
    ["a gzip file of text", gzipSync("hello ".repeat(1000)), /^was not written by/],
    ["an empty gzip file", gzipSync(""), /^is truncated/],
  ])("%s", async (_what, bytes, words) => {
    using place = setUp();
    expect(await refused(place, bytes)).toMatch(words);
  });

  test.each([
    ["another digest", /"sha256":"./, '"sha256":"-'],
    ["another count", /"entries":\d/, '"entries":0'],
  ])("%s at the end of an otherwise valid backup", async (_what, found, other) => {
    using place = setUp();
    dataWith(place.data, { "a.txt": "a" });
    await backupDataFolder({ dataDir: place.data, file: place.file });
    const whole = readFileSync(place.file);
    const tar = gunzipSync(whole).toString("latin1");
    expect(tar).toMatch(found);
    expect(await refused(place, gzipSync(Buffer.from(tar.replace(found, other), "latin1")))).toMatch(/^is damaged/);
    writeFileSync(place.file, gzipSync(Buffer.from(tar, "latin1")));
    await restoreDataFolder({ file: place.file, dataDir: place.restored });
  });

  test("every file with a changed or missing byte, and restores nothing of it", async () => {
    using place = setUp();
    dataWith(place.data, { "a.txt": "a".repeat(5000), "b.txt": "b" });
    await backupDataFolder({ dataDir: place.data, file: place.file });
    const whole = readFileSync(place.file);
    const tar = gunzipSync(whole);
    const random = randomFrom(17);
    for (let n = 0; n < 40; n++) {
      const at = Math.floor(random() * whole.length);
      expect(await refused(place, whole.subarray(0, at))).toMatch(/^(is truncated|was not written by)/);
      // Changes a bit before the compression, because gzip's checksum would detect a later change.
      const bytes = Buffer.from(tar);
      const index = Math.floor(random() * tar.length);
      bytes[index] = (bytes[index] as number) ^ (1 << Math.floor(random() * 8));
      expect(await refused(place, gzipSync(bytes, { level: 1 }))).toMatch(/^(is |was created by a newer|has )/);
    }
    writeFileSync(place.file, whole);
    await restoreDataFolder({ file: place.file, dataDir: place.restored });
    expect(readFileSync(join(place.restored, VOLUME, "b.txt"), "utf8")).toBe("b");
  });

  test("a flipped bit of the compressed file, or restores everything", async () => {
    using place = setUp();
    dataWith(place.data, { "a.txt": "a" });
    await backupDataFolder({ dataDir: place.data, file: place.file });
    const whole = readFileSync(place.file);
    const random = randomFrom(18);
    let restored = 0;
    for (let n = 0; n < 30; n++) {
      const bytes = Buffer.from(whole);
      const index = Math.floor(random() * whole.length);
      bytes[index] = (bytes[index] as number) ^ (1 << Math.floor(random() * 8));
      writeFileSync(place.file, bytes);
      const target = `${place.restored}-${n}`;
      const isRestored = await restoreDataFolder({ file: place.file, dataDir: target }).then(
        () => true,
        (error: Error) => {
          expect(error.name).toBe("BackupError");
          return false;
        },
      );
      // Some changes do not affect the content: the file's time, or a reference to equal bytes elsewhere.
      if (isRestored) expect(readFileSync(join(target, VOLUME, "a.txt"), "utf8")).toBe("a");
      else expect(place.names()).not.toContain(`restored-${n}`);
      restored += Number(isRestored);
    }
    expect(restored).toBeLessThan(15);
  });
});

test("refuses to back up a damaged state, and leaves nothing", async () => {
  using place = setUp();
  createLocalIdentity(place.data).close();
  writeFileSync(join(place.data, "state.sqlite"), "x".repeat(5000));
  const names = place.names();
  await expect(backupDataFolder({ dataDir: place.data, file: place.file })).rejects.toMatchObject({
    kind: "damaged",
    message: expect.stringContaining(`Run 'portside doctor --repair --data-dir ${place.data}', then back up again.`),
  });
  expect(place.names()).toEqual(names);
});
