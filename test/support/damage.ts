/** Seeded damage to files of a data folder, and what must hold afterwards. */
import { createHash } from "node:crypto";
import { chmodSync, cpSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { rebuildDataFolder, repairDataFolder } from "../../adapters/local/data-folder/repair.ts";
import { DataFolderError } from "../../adapters/local/index.ts";
import type { VolumeName } from "../../core/domain/names.ts";
import { helloServer, nodeSource } from "./archives.ts";
import { randomFrom } from "./crash.ts";
import { type Folder, folderWith } from "./folders.ts";
import { principalOf, startLocalIn, type TestPlatform } from "./local-platform.ts";
import { silentLogger } from "./silent-logger.ts";

const acme = principalOf("acme");
const APP = "still here";

export interface Bases extends Disposable {
  /** After an orderly stop. */
  readonly stopped: string;
  /** As a kill leaves it, with changes that are in the write-ahead log alone. */
  readonly killed: string;
  /** An earlier moment of the same folder. */
  readonly older: string;
}

const addVolume = async ({ controlPlane, local, dataDir }: TestPlatform, name: string): Promise<void> => {
  (await controlPlane.createVolume(acme, { name }))._unsafeUnwrap();
  const state = (await local.provider.volumes.find(acme.account, name as VolumeName))._unsafeUnwrap();
  if (state.kind === "held") writeFileSync(join(dataDir, "storage", "volumes", state.volume.id, "photo.jpg"), name);
};

const start = (dataDir: string) =>
  startLocalIn(dataDir, { runner: "process", drainSeconds: 0.1, graceSeconds: 0.1 }, {}, { logger: silentLogger });

export const makeBases = async (): Promise<Bases> => {
  const folders = Array.from({ length: 4 }, () => folderWith()) as [Folder, Folder, Folder, Folder];
  const [live, older, killed, stopped] = folders.map(({ path }) => path) as [string, string, string, string];
  {
    await using platform = await start(live);
    await addVolume(platform, "first");
    await platform.up(nodeSource(helloServer("an earlier revision")));
  }
  cpSync(live, older, { recursive: true, verbatimSymlinks: true });
  {
    await using platform = await start(live);
    await platform.up(nodeSource(helloServer(APP)));
    await addVolume(platform, "second");
    await addVolume(platform, "deleted");
    (await platform.controlPlane.deleteVolume(acme, { name: "deleted" }))._unsafeUnwrap();
  }
  cpSync(live, stopped, { recursive: true, verbatimSymlinks: true });
  {
    await using platform = await start(live);
    await addVolume(platform, "third");
    cpSync(live, killed, { recursive: true, verbatimSymlinks: true });
  }
  return {
    ...{ stopped, killed, older },
    [Symbol.dispose]: () => {
      for (const folder of folders) folder[Symbol.dispose]();
    },
  };
};

const filesBelow = (root: string): string[] =>
  readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)))
    .sort();

/** The content of every object, wherever its volume's folder is now. */
const objectsIn = (root: string): string[] =>
  filesBelow(root)
    .filter((path) => path.endsWith("photo.jpg"))
    .map((path) =>
      createHash("sha256")
        .update(readFileSync(join(root, path)))
        .digest("hex"),
    )
    .sort();

const damages = {
  flip: (path: string, random: () => number) => {
    const bytes = readFileSync(path);
    const at = Math.floor(random() * bytes.length);
    if (bytes.length > 0) bytes[at] = (bytes[at] as number) ^ (1 << Math.floor(random() * 8));
    writeFileSync(path, bytes);
  },
  truncate: (path: string, random: () => number) =>
    truncateSync(path, Math.floor(random() * readFileSync(path).length)),
  empty: (path: string) => truncateSync(path, 0),
  remove: (path: string) => rmSync(path),
  older: (path: string, _random: () => number, older: string) =>
    existsSync(older) ? cpSync(older, path) : rmSync(path),
  chmod: (path: string) => chmodSync(path, 0),
} as const;

const kinds = Object.keys(damages) as (keyof typeof damages)[];

/** What lives next to objects is damaged; the state's files more often, because there are few of them. */
const pick = (root: string, random: () => number): string => {
  const files = filesBelow(root).filter((path) => !path.startsWith(join("storage", "volumes")));
  const state = files.filter((path) => path.startsWith("state.") || path.includes("records"));
  const from = random() < 0.6 ? state : files;
  return from[Math.floor(random() * from.length)] as string;
};

const served = async ({ controlPlane }: TestPlatform): Promise<Record<string, string>> => {
  const volumes = (await controlPlane.listVolumes(acme))._unsafeUnwrap();
  const entries = volumes.map(async ({ name }) => {
    const { url } = (await controlPlane.grantDownload(acme, { volume: name, path: "photo.jpg" }))._unsafeUnwrap();
    return [name, await (await fetch(url)).text()] as const;
  });
  return Object.fromEntries(await Promise.all(entries));
};

export interface DamageCase {
  readonly words: string;
  readonly outcome: "started" | "refused";
  readonly isRebuilt: boolean;
}

const assertSame = (found: unknown, expected: unknown, words: string): void => {
  if (JSON.stringify(found) !== JSON.stringify(expected))
    throw new Error(`${words}: ${JSON.stringify(found)}, not ${JSON.stringify(expected)}`);
};

/** A volume whose name may be lost need not be served, but may be. */
const sureOf = (name: string, sure: readonly string[]): boolean => name !== "third" || sure.includes(name);

const checkPlatform = async (platform: TestPlatform, volumes: readonly string[], app: boolean, when: string) => {
  const expected = Object.fromEntries(volumes.map((name) => [name, name]));
  const found = Object.fromEntries(Object.entries(await served(platform)).filter(([name]) => sureOf(name, volumes)));
  assertSame(Object.entries(found).sort(), Object.entries(expected).sort(), `${when}, the volumes are`);
  if (!app) return;
  const [deployment] = (await platform.controlPlane.listDeployments(acme))._unsafeUnwrap();
  if (deployment === undefined) throw new Error(`${when}, the deployment is gone`);
  assertSame(await (await fetch(deployment.url)).text(), APP, `${when}, the service answers`);
};

/** An attempt to start. Returns the refusal, which must name a file and the next step. */
const attempt = async (dataDir: string, check: (platform: TestPlatform) => Promise<void>) => {
  let platform: TestPlatform;
  try {
    platform = await start(dataDir);
  } catch (error) {
    if (!(error instanceof DataFolderError)) throw error;
    if (!error.message.includes(error.path) || !/portside (doctor|restore)|--data-dir|chown|Check/.test(error.message))
      throw new Error(`the refusal names no file or no next step: ${error.message}`);
    return error;
  }
  try {
    await check(platform);
    return undefined;
  } finally {
    await platform[Symbol.asyncDispose]();
  }
};

const repair = async (dataDir: string): Promise<boolean> => {
  try {
    await repairDataFolder(dataDir, silentLogger, () => undefined);
    return false;
  } catch (error) {
    if (!(error instanceof DataFolderError) || !error.message.includes("portside doctor --rebuild")) throw error;
    await rebuildDataFolder(dataDir, silentLogger, () => undefined);
    return true;
  }
};

/** Throws if an object is deleted, if a start neither works nor explains itself, or if repair leaves something out. */
export const damage = async (bases: Bases, seed: number): Promise<DamageCase> => {
  const random = randomFrom(seed);
  const [base, volumes] =
    random() < 0.5 ? [bases.stopped, ["first", "second"]] : [bases.killed, ["first", "second", "third"]];
  using folder = folderWith();
  cpSync(base, folder.path, { recursive: true, verbatimSymlinks: true });
  const objects = objectsIn(folder.path);
  const done: string[] = [];
  const paths = new Set([pick(folder.path, random), ...(random() < 0.5 ? [pick(folder.path, random)] : [])]);
  for (const path of paths) {
    const kind = kinds[Math.floor(random() * kinds.length)] as keyof typeof damages;
    damages[kind](join(folder.path, path), random, join(bases.older, path));
    done.push(`${kind} ${path}`);
  }
  const words = `${base === bases.stopped ? "stopped" : "killed"}: ${done.join(", ")}`;
  // Its row is in the write-ahead log alone. Without that and its record, its name is nowhere on disk.
  const isNameLost =
    base === bases.killed &&
    [...paths].some((path) => path.startsWith("state.")) &&
    [...paths].some((path) => path.startsWith(join("storage", "records")));
  const sure = isNameLost ? volumes.filter((name) => name !== "third") : volumes;
  const app = ![...paths].some((path) => path.startsWith("images"));
  try {
    const refusal = await attempt(folder.path, (platform) => checkPlatform(platform, sure, app, "started"));
    assertSame(objectsIn(folder.path), objects, "after the start, the objects are");
    const isRebuilt = await repair(folder.path);
    const again = await attempt(folder.path, (platform) =>
      checkPlatform(platform, sure, app && !isRebuilt, "repaired"),
    );
    if (again !== undefined) throw new Error(`refused after the repair: ${again.message}`);
    assertSame(objectsIn(folder.path), objects, "after the repair, the objects are");
    return { words, outcome: refusal === undefined ? "started" : "refused", isRebuilt };
  } catch (cause) {
    throw new Error(`seed ${seed}, ${words}: ${(cause as Error).message}`, { cause });
  }
};
