/** Seeded damage to a data folder, and the invariants afterwards. */
import { createHash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join, relative, sep } from "node:path";
import { rebuildDataFolder, repairDataFolder } from "../../../adapters/local/data-folder/repair.ts";
import { DataFolderError } from "../../../adapters/local/index.ts";
import { silentLogger } from "../logs/silent-logger.ts";
import type { TestPlatform } from "../providers/local-platform.ts";
import { randomFrom } from "./crash.ts";
import { type Bases, checkServed, type Expected, putFolder, startOn } from "./damaged-folder.ts";

const VOLUMES = join("storage", "volumes");

const entriesBelow = (root: string): string[] =>
  readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() || entry.isDirectory())
    .map(({ parentPath, name }) => relative(root, join(parentPath, name)))
    .sort();

/** Calls `read` with permission on the folder, and restores its mode. */
const withPermission = <T>(folder: string, read: () => T): T => {
  const { mode } = lstatSync(folder);
  chmodSync(folder, 0o700);
  try {
    return read();
  } finally {
    chmodSync(folder, mode & 0o7777);
  }
};

const digestsBelow = (folder: string): string[] =>
  withPermission(folder, () =>
    readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return digestsBelow(path);
      return entry.name === "photo.jpg" ? [createHash("sha256").update(readFileSync(path)).digest("hex")] : [];
    }),
  );

/** The content of every object, in its volume or in quarantine, whatever the modes of the folders. */
const objectsIn = (root: string): string[] => digestsBelow(join(root, "storage")).sort();

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
  remove: (path: string) => rmSync(path, { recursive: true }),
  older: (path: string, _random: () => number, older: string) =>
    existsSync(older) ? cpSync(older, path) : rmSync(path),
  chmod: (path: string, random: () => number) => chmodSync(path, random() < 0.5 ? 0 : 0o777),
} as const;

type Kind = keyof typeof damages;
const ofFiles = Object.keys(damages) as readonly Kind[];
const ofFolders: readonly Kind[] = ["chmod", "remove"];

const oneOf = <T>(all: readonly T[], random: () => number): T => all[Math.floor(random() * all.length)] as T;

type Moment = "stopped" | "killed" | "running";

/**
 * A path in the folder. Prefers files of the state, because there are few of them, and chooses a folder before a file,
 * because an environment has many files.
 */
const pick = (root: string, moment: Moment, random: () => number): string => {
  // Excludes the objects, which must never be lost. SQLite maps -shm files into memory: truncating one ends the process.
  const paths = entriesBelow(root).filter(
    (path) => !path.endsWith("photo.jpg") && !(moment === "running" && path.endsWith("-shm")),
  );
  const state = paths.filter((path) => path.startsWith("state.") || path.includes("records"));
  if (random() < 0.5) return oneOf(state, random);
  const place = oneOf([...new Set(paths.map((path) => path.split(sep)[0] as string))].sort(), random);
  return oneOf(
    paths.filter((path) => path === place || path.startsWith(place + sep)),
    random,
  );
};

const kindFor = (root: string, path: string, random: () => number): Kind => {
  if (!lstatSync(join(root, path)).isDirectory()) return oneOf(ofFiles, random);
  // Removing such a folder would delete the objects, which must never be lost.
  const holdsObjects = path === "storage" || path.startsWith(VOLUMES);
  return holdsObjects ? "chmod" : oneOf(ofFolders, random);
};

export interface DamageCase {
  readonly words: string;
  readonly outcome: "started" | "refused";
  readonly isRebuilt: boolean;
}

/** The contents of the undamaged paths. */
const expectedAfter = (moment: Moment, paths: readonly string[], seed: number): Expected => {
  const hits = (...starts: string[]) => paths.some((path) => starts.some((start) => path.startsWith(start)));
  const isStateLost = hits("state.sqlite") && hits("state.copy", "state.check");
  // The row of the volume `third` is only in the write-ahead log. Without the row and the record, its name is lost.
  const isThirdLost = hits("state.") && hits(join("storage", "records"));
  return {
    volumes: ["first", "second", ...(moment === "killed" && !isThirdLost ? ["third"] : [])],
    state: !isStateLost,
    app: !isStateLost && !hits("images"),
    // Not in every case, because Python takes a second to start.
    python: seed % 5 === 0 && !isStateLost && !hits("images", "cache"),
    logs: !isStateLost && !hits("logs"),
    billing: !hits("billing"),
    ready: true,
  };
};

const step = /portside (doctor|restore)|--data-dir|chown|Check|Move it away/;

/** Starts a platform and checks it. Returns the error of a refused start, which must name a file and the next step. */
const attempt = async (dataDir: string, check: (platform: TestPlatform) => Promise<void>) => {
  let platform: TestPlatform;
  try {
    platform = await startOn(dataDir);
  } catch (error) {
    if (!(error instanceof DataFolderError)) throw error;
    if (!error.message.includes(error.path) || !step.test(error.message))
      throw new Error(`the error names no file or no next step: ${error.message}`);
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

const same = (found: readonly string[], expected: readonly string[], when: string): void => {
  if (found.join() !== expected.join())
    throw new Error(`${when}, there are ${found.length} of ${expected.length} objects`);
};

/** Throws if an object is lost, if a start fails without an explanation, or if repair leaves damage. */
export const damage = async (bases: Bases, seed: number): Promise<DamageCase> => {
  const random = randomFrom(seed);
  const moment = oneOf(["stopped", "killed", "running"] as const, random);
  const { live } = bases;
  putFolder(moment === "killed" ? bases.killed : bases.stopped, live);
  const objects = objectsIn(live);
  const running = moment === "running" ? await startOn(live) : undefined;
  const paths = [...new Set([pick(live, moment, random), ...(random() < 0.5 ? [pick(live, moment, random)] : [])])];
  const done: string[] = [];
  for (const path of paths) {
    // Damage to the first path may have removed the second one.
    if (!existsSync(join(live, path))) continue;
    const kind = kindFor(live, path, random);
    damages[kind](join(live, path), random, join(bases.older, path));
    done.push(`${kind} ${path}`);
  }
  const words = `${moment}: ${done.join(", ")}`;
  // A start restores the mode of its folders. A running server reports instead that it is not ready.
  const isClosed = process.geteuid?.() !== 0 && done.includes("chmod logs");
  const expected = expectedAfter(moment, paths, seed);
  try {
    if (running !== undefined) {
      try {
        // Without its state or its folders, a server must still not lose objects.
        if (paths.every((path) => /^(logs|billing|images|cache|sql)/.test(path)))
          await checkServed(running, bases, { ...expected, ready: !isClosed }).catch((error: Error) => {
            throw new Error(`running, ${error.message}`);
          });
      } finally {
        await running[Symbol.asyncDispose]();
      }
    }
    const refusal = await attempt(live, (platform) => checkServed(platform, bases, expected));
    same(objectsIn(live), objects, "after the start");
    const isRebuilt = await repair(live);
    const rest = isRebuilt ? { ...expected, state: false, app: false, python: false, logs: false } : expected;
    const again = await attempt(live, (platform) => checkServed(platform, bases, rest));
    if (again !== undefined) throw new Error(`fails after the repair: ${again.message}`);
    same(objectsIn(live), objects, "after the repair");
    return { words, outcome: refusal === undefined ? "started" : "refused", isRebuilt };
  } catch (cause) {
    throw new Error(`seed ${seed}, ${words}: ${(cause as Error).message}`, { cause });
  }
};
