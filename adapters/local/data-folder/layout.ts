/**
 * The layout of a data folder, and the mode of everything in it that is the platform's own. This is the only place that
 * says who may reach what: a service's environment, keys and logs are for the user that runs the server alone.
 */
import {
  chmodSync,
  closeSync,
  existsSync,
  fchmodSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  type Stats,
} from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { DatabaseSync } from "node:sqlite";
import type { Logger } from "../../../core/ports/system.ts";
import { makeFolders } from "../../shared/runtime/make-folders.ts";
import { DataFolderError, explainFileError } from "./error.ts";
import { setAside } from "./set-aside.ts";

const FOLDER = 0o700;
const FILE = 0o600;

interface Rule {
  readonly folder: number;
  /** The mode of the files directly in it; absent: files are not the platform's own. */
  readonly files?: number;
  /** Folders that are always there. */
  readonly fixed?: Readonly<Record<string, Rule>>;
  /** Any other folder in it; absent: its content belongs to services and builds. */
  readonly others?: Rule;
}

const closed: Rule = { folder: FOLDER };
const own: Rule = { folder: FOLDER, files: FILE };
const ownTree: Rule = {
  ...own,
  get others() {
    return ownTree;
  },
};

/** What tries whether a folder can be written. The next try replaces one that a kill left. */
export const PROBE_FILE = "probe";

/** Never set aside: a missing volume is worse than a server that does not start. */
const STORAGE = "storage";

const layout: Rule = {
  ...own,
  fixed: {
    logs: ownTree,
    spool: ownTree,
    sql: ownTree,
    // Notes of instances; the folders are services' homes.
    run: own,
    cache: { ...closed, others: closed },
    "set-aside": ownTree,
    // Trees that wait for their removal.
    leftovers: closed,
    sandbox: closed,
    tools: closed,
    // An account, an image; its app folder is what the service sees.
    images: { ...closed, others: { ...closed, others: own } },
    [STORAGE]: {
      ...closed,
      fixed: { uploads: ownTree, volumes: closed, records: own, quarantine: { ...closed, others: own } },
    },
  },
};

/** What a backup does with an entry of the data folder. */
export type BackupRule =
  /** SQLite files are copied as they are at one moment. */
  | "state"
  | "database"
  | "databases"
  /** Files of the platform. */
  | "own"
  /** Folders in which tenant code writes. */
  | "volumes"
  | "quarantine"
  | "images"
  | "environments"
  | "left out";

/** Every entry of a data folder, by its path. A test compares this table with the folder of a server that was used. */
const backupRules: Readonly<Record<string, BackupRule>> = {
  "state.sqlite": "state",
  "billing.sqlite": "database",
  logs: "databases",
  "portside.config.json": "own",
  "set-aside": "own",
  "storage/records": "own",
  "storage/volumes": "volumes",
  "storage/quarantine": "quarantine",
  images: "images",
  // Only the Python environments that images need. The next build fetches the rest again.
  cache: "environments",
  // Belong to one moment of one folder. A restore makes the first anew, and the server the others.
  "state.check": "left out",
  "state.copy.sqlite": "left out",
  "state.copy.sqlite.new": "left out",
  "state.sqlite.new": "left out",
  "lock.sqlite": "left out",
  // Made anew from the logs and the bill.
  sql: "left out",
  // Belong to a running server.
  [PROBE_FILE]: "left out",
  run: "left out",
  spool: "left out",
  sandbox: "left out",
  tools: "left out",
  leftovers: "left out",
  "storage/uploads": "left out",
};

/** SQLite's own files beside a database. A copy at one moment has their content. */
const BESIDE_DATABASE = /^(state|state\.copy|lock|billing)\.sqlite(\.new)?-(wal|shm|journal)$/;

/** What a backup does with the path below the data folder, or with what it lies in; undefined for a foreign path. */
export const backupRuleOf = (path: string): BackupRule | undefined => {
  if (BESIDE_DATABASE.test(path)) return "left out";
  const [first = "", second = ""] = path.split("/");
  return backupRules[first === STORAGE ? `${first}/${second}` : first];
};

const TENANTS =
  /^(storage\/volumes\/[^/]+|storage\/quarantine\/[^/]+\/volume|images\/[^/]+\/[^/]+\/app|cache\/[^/]+\/venvs\/[^/]+)(\/|$)/s;

/** Whether tenant code may write at the path below the data folder. */
export const isTenantPath = (path: string): boolean => TENANTS.test(path);

const isOwn = ({ uid }: Stats): boolean => process.geteuid === undefined || uid === process.geteuid();

/** By path and not by handle: closing a handle of an open SQLite file drops the locks of this process on it. */
const setMode = (path: string, stats: Stats, mode: number): number => {
  if ((stats.mode & 0o777) === mode || !isOwn(stats)) return 0;
  chmodSync(path, mode);
  return 1;
};

/** Gives everything below the folder the mode of its rule; returns how much had another. Links are left alone. */
const tighten = (path: string, rule: Rule): number => {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isDirectory() !== true) return 0;
  let changed = setMode(path, stats, rule.folder);
  if (rule.files === undefined && rule.fixed === undefined && rule.others === undefined) return changed;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inner = join(path, entry.name);
    if (entry.isFile() && rule.files !== undefined) changed += setMode(inner, lstatSync(inner), rule.files);
    const next = rule.fixed?.[entry.name] ?? rule.others;
    if (entry.isDirectory() && next !== undefined) changed += tighten(inner, next);
  }
  return changed;
};

const isFile = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === false;

const make = (path: string, { folder, fixed = {} }: Rule): void => {
  try {
    mkdirSync(path);
    // The umask has no say.
    chmodSync(path, folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST" || isFile(path)) throw error;
  }
  for (const [name, inner] of Object.entries(fixed)) make(join(path, name), inner);
};

/** Makes the folders of the local engine that are missing. Files in their places are set aside. */
export const makeLayout = (dataDir: string, logger: Logger): void => {
  const files = Object.keys(layout.fixed ?? {}).filter((name) => name !== STORAGE && isFile(join(dataDir, name)));
  const kept = setAside(dataDir, files);
  if (kept !== undefined) logger.error("set files aside that stood in the places of folders", { dataDir, files, kept });
  make(dataDir, layout);
};

const refuseForeign = (dataDir: string, stats: Stats): void => {
  if (isOwn(stats)) return;
  throw new DataFolderError(
    "not_owner",
    dataDir,
    `The data folder ${dataDir} belongs to user ${stats.uid}, and Portside runs as user ${process.geteuid?.()}: its owner could read and change everything in it. Run Portside as that user, change the owner with chown, or choose another folder with --data-dir.`,
  );
};

/** Where a restore unpacks what takes the place of the folder. The path has no links. */
export const restoreFolderOf = (dataDir: string): string => `${dataDir}.restore`;

/** Where a missing folder belongs: its path may be a link that the operator made. */
const targetOf = (path: string): string => {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isSymbolicLink() === true) return resolve(dirname(path), readlinkSync(path));
  return existsSync(dirname(path)) ? join(realpathSync(dirname(path)), basename(path)) : path;
};

/** A kill between the two renames of a restore leaves no folder: an empty one must not take its place. */
const refuseHalfRestored = (dataDir: string): void => {
  if (existsSync(dataDir)) return;
  const target = targetOf(dataDir);
  const work = restoreFolderOf(target);
  if (!existsSync(work)) return;
  const kept = readdirSync(dirname(target)).filter((name) => name.startsWith(`${basename(target)}.before-`));
  const back =
    kept.length === 0
      ? ""
      : ` The folder that was there is ${join(dirname(target), kept.sort().at(-1) ?? "")}: to go on with it, rename it back.`;
  throw new DataFolderError(
    "outdated",
    dataDir,
    `The data folder ${dataDir} is missing, because a restore of it was ended too early. Run 'portside restore' again with the same file.${back} To begin with an empty folder, remove ${work}.`,
  );
};

/**
 * Makes the data folder if it is missing, and closes it to other users of the machine.
 * Throws a `DataFolderError` if the folder cannot be used, belongs to another user, or is missing after a restore was killed.
 */
export const openDataFolder = (dataDir: string, logger?: Logger): void => {
  try {
    refuseHalfRestored(dataDir);
    if (makeFolders(dataDir, FOLDER)) chmodSync(dataDir, FOLDER);
    // The path may be a link that the operator made.
    const folder = realpathSync(dataDir);
    refuseForeign(dataDir, lstatSync(folder));
    const changed = tighten(folder, layout);
    if (changed > 0)
      logger?.warn("closed the data folder to other users of this machine", { dataDir, modesChanged: changed });
  } catch (error) {
    throw explainFileError(error, dataDir) ?? error;
  }
};

/**
 * Makes the folder if it is missing. Fails if the folder around it is missing: a data folder that was removed under a
 * running server must not come back half empty.
 */
export const makeFolder = (path: string): void => {
  try {
    mkdirSync(path, FOLDER);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
};

/** Creates an empty file that only its owner can read, unless the file exists. */
export const makePrivateFile = (path: string): void => {
  try {
    const file = openSync(path, "wx", FILE);
    fchmodSync(file, FILE);
    closeSync(file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
};

/** Opens a SQLite file that only its owner can read; SQLite gives its `-wal` and `-shm` files the same mode. */
export const openDatabase = (path: string, options: { readonly timeout: number }): DatabaseSync => {
  makeFolder(dirname(path));
  makePrivateFile(path);
  return new DatabaseSync(path, options);
};
