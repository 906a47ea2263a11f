/** `portside doctor --repair`, `--rebuild` and `--purge-quarantine`, on data folders of a real platform. */
import { copyFileSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { formatLoss, rebuildDataFolder, repairDataFolder } from "../../../../adapters/local/data-folder/repair.ts";
import { DataFolderError } from "../../../../adapters/local/index.ts";
import type { VolumeName } from "../../../../core/domain/wire/names.ts";
import { helloServer, nodeSource } from "../../../support/archives/archives.ts";
import { type Folder, folderWith } from "../../../support/archives/folders.ts";
import { portside } from "../../../support/cli/terminal.ts";
import { silentLogger } from "../../../support/logs/silent-logger.ts";
import { principalOf, startLocalIn, type TestPlatform } from "../../../support/providers/local-platform.ts";

const acme = principalOf("acme");

let folder: Folder;
beforeEach(() => {
  folder = folderWith();
});
afterEach(() => folder[Symbol.dispose]());

const at = (...names: string[]): string => join(folder.path, ...names);
const start = (acceptState = false) => startLocalIn(folder.path, { runner: "process", acceptState });

const idOf = async ({ local }: TestPlatform, name: string): Promise<string | undefined> => {
  const state = (await local.provider.volumes.find(acme.account, name as VolumeName))._unsafeUnwrap();
  return state.kind === "held" ? state.volume.id : undefined;
};

const addVolume = async (platform: TestPlatform, name: string): Promise<void> => {
  (await platform.controlPlane.createVolume(acme, { name }))._unsafeUnwrap();
  writeFileSync(at("storage", "volumes", (await idOf(platform, name)) as string, "photo.jpg"), name);
};

/** The live volumes, and the content of their object. */
const served = async (platform: TestPlatform): Promise<Record<string, string>> => {
  const volumes = (await platform.controlPlane.listVolumes(acme))._unsafeUnwrap();
  const entries = volumes.map(async ({ name }) => {
    const { url } = (
      await platform.controlPlane.grantDownload(acme, { volume: name, path: "photo.jpg" })
    )._unsafeUnwrap();
    return [name, await (await fetch(url)).text()] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
};

const run = async (work: typeof repairDataFolder): Promise<string[]> => {
  const lines: string[] = [];
  await work(folder.path, silentLogger, (line) => lines.push(line));
  return lines;
};

test.each([
  ["an empty state", () => truncateSync(at("state.sqlite"), 0)],
  ["a state that is not a database", () => writeFileSync(at("state.sqlite"), "x".repeat(5000))],
  ["a missing state and check file", () => ["state.sqlite", "state.check"].forEach((name) => void rmSync(at(name)))],
])("repair replaces %s with the copy, and everything is served again", async (_name, damage) => {
  let url: string;
  {
    await using platform = await start();
    url = await platform.up(nodeSource(helloServer("kept")));
    await addVolume(platform, "photos");
  }
  damage();
  await expect(start()).rejects.toThrow(DataFolderError);
  const lines = await run(repairDataFolder);
  expect(lines).toContain("using the copy of the state");
  expect(lines.filter((line) => line.startsWith("lost"))).toEqual([]);
  await using platform = await start();
  expect(await served(platform)).toEqual({ photos: "photos" });
  expect(await (await fetch(url)).text()).toBe("kept");
});

test("repair of an older state restores newer volumes from their records, and reports the loss", async () => {
  {
    await using platform = await start();
    await addVolume(platform, "old");
    await addVolume(platform, "deleted");
  }
  copyFileSync(at("state.sqlite"), at("older"));
  {
    await using platform = await start();
    (await platform.controlPlane.deleteVolume(acme, { name: "deleted" }))._unsafeUnwrap();
    await addVolume(platform, "new");
    (await platform.local.ports.identity.keys.create(acme.account, "lost"))._unsafeUnwrap();
  }
  for (const name of ["state.sqlite", "state.copy.sqlite"]) copyFileSync(at("older"), at(name));
  const lines = await run(repairDataFolder);
  expect(lines.filter((line) => line.startsWith("lost"))).toEqual([
    expect.stringMatching(/^lost the last \d+ changes, except those to volumes$/),
  ]);
  await using platform = await start();
  expect(await served(platform)).toEqual({ old: "old", new: "new" });
  const trash = (await platform.controlPlane.listTrash(acme))._unsafeUnwrap();
  expect(trash.map(({ name }) => name)).toEqual(["deleted"]);
});

test("the report of a loss names the number of lost changes", () => {
  expect(formatLoss(1)).toBe("lost the last change, unless it was to a volume");
  expect(formatLoss(5)).toBe("lost the last 5 changes, except those to volumes");
});

test("repair restores volumes that an accepted older state moved to quarantine", async () => {
  {
    await using platform = await start();
    await addVolume(platform, "old");
  }
  copyFileSync(at("state.sqlite"), at("older"));
  {
    await using platform = await start();
    await addVolume(platform, "new");
  }
  copyFileSync(at("older"), at("state.sqlite"));
  {
    await using platform = await start(true);
    expect(await served(platform)).toEqual({ old: "old" });
  }
  await run(repairDataFolder);
  expect(readdirSync(at("storage", "quarantine"))).toEqual([]);
  await using platform = await start();
  expect(await served(platform)).toEqual({ old: "old", new: "new" });
});

test("rebuild creates a state from records if neither a state nor a copy is left", async () => {
  {
    await using platform = await start();
    await addVolume(platform, "photos");
    await addVolume(platform, "letters");
  }
  await expect(run(rebuildDataFolder)).rejects.toThrow(/Run 'portside doctor --repair/);
  for (const name of ["state.sqlite", "state.copy.sqlite"]) truncateSync(at(name), 0);
  await expect(run(repairDataFolder)).rejects.toThrow(/portside doctor --rebuild/);
  const lines = await run(rebuildDataFolder);
  expect(lines.filter((line) => line.startsWith("lost: deployments, schedules, API keys"))).toHaveLength(1);
  await using platform = await start();
  expect(await served(platform)).toEqual({ photos: "photos", letters: "letters" });
});

test("repair and rebuild refuse a folder that a server uses, and one without data", async () => {
  {
    await using _platform = await start();
    for (const work of [repairDataFolder, rebuildDataFolder])
      await expect(run(work)).rejects.toMatchObject({ kind: "in_use" });
  }
  for (const work of [repairDataFolder, rebuildDataFolder])
    await expect(work(at("nowhere"), silentLogger, () => undefined)).rejects.toThrow(/contains no data/);
  expect(existsSync(at("nowhere"))).toBe(false);
});

test("the command line repairs, reports the size of the quarantine and purges it", async () => {
  {
    await using platform = await start();
    await addVolume(platform, "photos");
  }
  folder.write({ "storage/volumes/vol-unknown/file": "12345" });
  await (await start())[Symbol.asyncDispose]();
  const doctor = await portside(["doctor", "--json", "--data-dir", folder.path]);
  const findings = doctor.stdout
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  expect(findings).toContainEqual(expect.objectContaining({ what: "state", verdict: "ok" }));
  expect(findings.find(({ what }) => what === "quarantine")).toMatchObject({
    verdict: "warning",
    words: expect.stringMatching(/^1 unknown volume folder with \d+ bytes$/),
  });
  writeFileSync(at("state.sqlite"), "");
  const damaged = await portside(["doctor", "--json", "--data-dir", folder.path]);
  expect(damaged.code).toBe(1);
  const repaired = await portside(["doctor", "--repair", "--data-dir", folder.path]);
  expect([repaired.code, repaired.stderr]).toEqual([0, ""]);
  expect(repaired.stdout).toContain("using the copy of the state");
  expect((await portside(["doctor", "--purge-quarantine", "--data-dir", folder.path])).code).toBe(2);
  expect(readdirSync(at("storage", "quarantine"))).toHaveLength(1);
  expect((await portside(["doctor", "--purge-quarantine", "-y", "--data-dir", folder.path])).code).toBe(0);
  expect(readdirSync(at("storage", "quarantine"))).toEqual([]);
  expect((await portside(["doctor", "--repair", "--rebuild", "--data-dir", folder.path])).code).toBe(2);
});

test("each volume has a record outside of its folder, which follows deletion and restoring", async () => {
  await using platform = await start();
  await addVolume(platform, "photos");
  const id = (await idOf(platform, "photos")) as string;
  const record = () => JSON.parse(readFileSync(at("storage", "records", `${id}.json`), "utf8"));
  expect(record()).toMatchObject({ id, owner: "acme", name: "photos" });
  (await platform.controlPlane.deleteVolume(acme, { name: "photos" }))._unsafeUnwrap();
  expect(record().deleted_at).toBeDefined();
  (await platform.controlPlane.restoreVolume(acme, { name: "photos" }))._unsafeUnwrap();
  expect(record().deleted_at).toBeUndefined();
});

test.each([
  ["missing", (path: string) => rmSync(path)],
  ["damaged", (path: string) => truncateSync(path, 20)],
])("a start rewrites a record that is %s, so that a rebuild finds the volume", async (_what, spoil) => {
  {
    await using platform = await start();
    await addVolume(platform, "photos");
  }
  const [name] = readdirSync(at("storage", "records")) as [string];
  spoil(at("storage", "records", name));
  writeFileSync(at("storage", "records", "vol-gone.json"), "{}");
  await (await start())[Symbol.asyncDispose]();
  expect(readdirSync(at("storage", "records"))).toEqual([name]);
  for (const file of ["state.sqlite", "state.copy.sqlite"]) writeFileSync(at(file), "damaged".repeat(1000));
  await run(rebuildDataFolder);
  await using platform = await start();
  expect(await served(platform)).toEqual({ photos: "photos" });
});
