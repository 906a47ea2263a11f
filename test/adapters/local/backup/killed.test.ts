/** A killed backup or restore loses no data, and the next attempt works. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import {
  backupDataFolder,
  createLocalIdentity,
  DataFolderError,
  restoreDataFolder,
} from "../../../../adapters/local/index.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { abortingDisk } from "../../../support/crashes/aborting-disk.ts";
import { needs } from "../../../support/vitest/machine.ts";

const OBJECTS = 300;

/** A data folder with enough objects that a backup can be killed while it runs. */
const fill = (path: string, objects = OBJECTS): void => {
  createLocalIdentity(path).close();
  const volume = join(path, "storage", "quarantine", "one", "volume");
  mkdirSync(volume, { recursive: true });
  for (let n = 0; n < objects; n++) writeFileSync(join(volume, `object-${n}`), `content of ${n}`.repeat(2000));
};

const objectsIn = (path: string): number => {
  const volume = join(path, "storage", "quarantine", "one", "volume");
  const names = readdirSync(volume);
  for (const name of names) {
    const n = name.slice("object-".length);
    expect(readFileSync(join(volume, name), "utf8")).toBe(`content of ${n}`.repeat(2000));
  }
  return names.length;
};

const child = new URL("../../../support/crashes/killed-backup-child.ts", import.meta.url).pathname;

/** Kills the process after it has processed a number of bytes, or made a number of file system changes. */
const killed = async (
  what: "backup" | "restore",
  dataDir: string,
  file: string,
  at: number,
  unit: "bytes" | "change" = "bytes",
): Promise<void> => {
  const process_ = spawn(process.execPath, [child, what, dataDir, file, unit, String(at)], { stdio: "inherit" });
  const [, signal] = await once(process_, "exit");
  expect(signal).toBe("SIGKILL");
};

/** The number of file system changes of a restore. */
const changesOf = async (dataDir: string, file: string): Promise<number> => {
  const { stdout } = await promisify(execFile)(process.execPath, [child, "restore", dataDir, file, "count"]);
  return Number(stdout);
};

const share = (bytes: number, part: number): number => Math.floor(bytes * part);

test.each([0, 0.3, 0.6, 0.9])(
  "a backup killed at %d of its size keeps the earlier file, and the next one works",
  async (part) => {
    using folder = folderWith();
    const [data, file, restored] = ["data", "b.tar.gz", "restored"].map((name) => join(folder.path, name)) as [
      string,
      string,
      string,
    ];
    fill(data);
    let bytes = 0;
    await backupDataFolder({ dataDir: data, file: `${file}.measured`, onProgress: (more) => (bytes += more) });
    writeFileSync(file, "an earlier backup");
    await killed("backup", data, file, share(bytes, part));
    expect(readFileSync(file, "utf8")).toBe("an earlier backup");
    expect(objectsIn(data)).toBe(OBJECTS);
    await backupDataFolder({ dataDir: data, file, replace: true });
    expect(readdirSync(folder.path).sort()).toEqual(["b.tar.gz", "b.tar.gz.measured", "data"]);
    await restoreDataFolder({ file, dataDir: restored });
    expect(objectsIn(restored)).toBe(OBJECTS);
  },
);

test.each([0, 0.3, 0.9])(
  "a restore killed at %d of the backup's size does not change the folder, and the next one works",
  async (part) => {
    using folder = folderWith();
    const [data, file] = ["data", "b.tar.gz"].map((name) => join(folder.path, name)) as [string, string];
    fill(data);
    const { bytes } = await backupDataFolder({ dataDir: data, file });
    writeFileSync(join(data, "storage", "quarantine", "one", "volume", "object-0"), "changed");
    await killed("restore", data, file, share(bytes, part));
    expect(readFileSync(join(data, "storage", "quarantine", "one", "volume", "object-0"), "utf8")).toBe("changed");
    createLocalIdentity(data).close();
    await restoreDataFolder({ file, dataDir: data, replace: true });
    expect(objectsIn(data)).toBe(OBJECTS);
    const names = readdirSync(folder.path).sort();
    expect(names).toEqual(["b.tar.gz", "data", expect.stringMatching(/^data\.before-/)]);
  },
);

const object = (data: string): string => join(data, "storage", "quarantine", "one", "volume", "object-0");

/** Returns which data a start finds, or `refused` if it fails with an error that names the next step. */
const startOn = (data: string): string => {
  try {
    createLocalIdentity(data).close();
    return readFileSync(object(data), "utf8").startsWith("content") ? "restored" : "before";
  } catch (error) {
    if (!(error instanceof DataFolderError)) throw error;
    expect(error.message).toMatch(/Run 'portside restore' again/);
    return "refused";
  }
};

test("after a restore killed at any change, a start finds the old or the new data, or fails and names the next step", async () => {
  using folder = folderWith();
  const [source, data, file] = ["source", "data", "b.tar.gz"].map((name) => join(folder.path, name)) as [
    string,
    string,
    string,
  ];
  const begin = (): void => {
    for (const name of readdirSync(folder.path))
      if (name.startsWith("data")) rmSync(join(folder.path, name), { recursive: true });
    fill(data, 3);
    writeFileSync(object(data), "changed");
  };
  fill(source, 3);
  await backupDataFolder({ dataDir: source, file });
  begin();
  const all = await changesOf(data, file);
  // Each of the last changes, in which the folders are renamed, and some earlier ones.
  const moments = Array.from({ length: all }, (_, n) => n + 1).filter((n) => n > all - 13 || n % 20 === 1);
  const outcomes: string[] = [];
  for (const moment of moments) {
    begin();
    await killed("restore", data, file, moment, "change");
    const outcome = startOn(data);
    outcomes.push(outcome);
    if (outcome === "refused") expect(existsSync(data)).toBe(false);
    await restoreDataFolder({ file, dataDir: data, replace: true });
    expect(startOn(data)).toBe("restored");
    const kept = readdirSync(folder.path).filter((name) => name.startsWith("data.before-"));
    expect(kept.map((name) => readFileSync(object(join(folder.path, name)), "utf8"))).toContain("changed");
    expect(readdirSync(folder.path).filter((name) => name.endsWith(".restore"))).toEqual([]);
  }
  // The outcomes occur in this order.
  expect(outcomes).toEqual([...outcomes].sort((a, b) => order.indexOf(a) - order.indexOf(b)));
  expect(new Set(outcomes)).toEqual(new Set(order));
});

const order = ["before", "refused", "restored"];

test("a restored folder is complete after a power cut", async (context) => {
  needs(context, "loop devices");
  using folder = folderWith();
  using disk = abortingDisk(64);
  const [source, file] = [join(folder.path, "source"), join(folder.path, "b.tar.gz")];
  fill(source);
  await backupDataFolder({ dataDir: source, file });
  const data = join(disk.path, "parent", "data");
  fill(data, 3);
  writeFileSync(object(data), "changed");
  await restoreDataFolder({ file, dataDir: data, replace: true });
  const again = join(disk.remounted(), "parent", "data");
  expect(startOn(again)).toBe("restored");
  expect(objectsIn(again)).toBe(OBJECTS);
});

test("Ctrl-C ends a backup and a restore, and leaves nothing", async () => {
  using folder = folderWith();
  const [data, file] = ["data", "b.tar.gz"].map((name) => join(folder.path, name)) as [string, string];
  fill(data);
  for (const what of ["backup", "restore"]) {
    const names = readdirSync(folder.path);
    const args = [what, file, "--data-dir", what === "backup" ? data : join(folder.path, "other")];
    const { code } = await portside(args, { signal: AbortSignal.abort() });
    expect(code).toBe(130);
    expect(readdirSync(folder.path)).toEqual(names);
    await portside(["backup", file, "--data-dir", data]);
  }
});

test("two backups to one file do not mix", async () => {
  using folder = folderWith();
  const [data, file] = ["data", "b.tar.gz"].map((name) => join(folder.path, name)) as [string, string];
  fill(data);
  const outcomes = await Promise.allSettled([1, 2].map(() => backupDataFolder({ dataDir: data, file })));
  const refused = outcomes.filter(({ status }) => status === "rejected");
  expect(refused).toMatchObject([
    { reason: { kind: "in_use", message: expect.stringContaining("Wait until it ends") } },
  ]);
  await restoreDataFolder({ file, dataDir: join(folder.path, "restored") });
});
