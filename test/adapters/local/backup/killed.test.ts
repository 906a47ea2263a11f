/** A backup or a restore that is killed leaves the data folder as it was, and the next try works. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { backupDataFolder, createLocalIdentity, restoreDataFolder } from "../../../../adapters/local/index.ts";
import { folderWith } from "../../../support/folders.ts";
import { portside } from "../../../support/terminal.ts";

const OBJECTS = 300;

/** A data folder whose volume has as many objects as a kill needs to meet one. */
const fill = (path: string): void => {
  createLocalIdentity(path).close();
  const volume = join(path, "storage", "quarantine", "one", "volume");
  mkdirSync(volume, { recursive: true });
  for (let n = 0; n < OBJECTS; n++) writeFileSync(join(volume, `object-${n}`), `content of ${n}`.repeat(2000));
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

const child = new URL("../../../support/killed-backup-child.ts", import.meta.url).pathname;

/** Runs until so many bytes are done, and kills it there. */
const killed = async (what: "backup" | "restore", dataDir: string, file: string, bytes: number): Promise<void> => {
  const process_ = spawn(process.execPath, [child, what, dataDir, file, String(bytes)], { stdio: "inherit" });
  const [, signal] = await once(process_, "exit");
  expect(signal).toBe("SIGKILL");
};

const share = (bytes: number, part: number): number => Math.floor(bytes * part);

test.each([0, 0.3, 0.6, 0.9])(
  "a backup that is killed after %d of its bytes leaves no file, and the next one works",
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
  "a restore that is killed after %d of the bytes leaves the folder, and the next one works",
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
