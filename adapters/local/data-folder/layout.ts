/**
 * Defines the layout of a data folder, the modes of the platform's files and folders in it, and how a backup treats
 * each path. Only the user that runs the server may read services' environments, keys and logs.
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
import { DataFolderError, explainFileError } from "./data-folder-error.ts";
import { setAside } from "./set-aside.ts";

const FOLDER = 0o700;
const FILE = 0o600;

interface Rule {
  readonly folder: number;
  /** The mode of the files directly in the folder; undefined if they do not belong to the platform. */
  readonly files?: number;
  /** Folders that always exist. */
  readonly fixed?: Readonly<Record<string, Rule>>;
  /** The rule for all other folders; undefined if their content belongs to services and builds. */
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

/** The secrets key, unless the setting `secretsKeyFile` names another file. */
export const KEY_FILE = "secrets.key";

/** The file that the health check writes as a test. The next check replaces a leftover file. */
export const PROBE_FILE = "probe";

/**
 * The folder of the volumes. Portside does not set aside a file with this name, because missing volumes would be worse
 * than a failed start.
 */
const STORAGE = "storage";

const layout: Rule = {
  ...own,
  fixed: {
    logs: ownTree,
    spool: ownTree,
    sql: ownTree,
    // Contains the socket of the engine, and the lock of the server.
    engine: own,
    // Contains notes about instances (files), and the home folders of services.
    run: own,
    cache: { ...closed, others: closed },
    "set-aside": ownTree,
    // Contains trees that the server removes.
    leftovers: closed,
    sandbox: closed,
    tools: closed,
    // images/ACCOUNT/IMAGE/app is visible to the service.
    images: { ...closed, others: { ...closed, others: own } },
    [STORAGE]: {
      ...closed,
      fixed: {
        uploads: ownTree,
        parts: ownTree,
        volumes: closed,
        records: own,
        quarantine: { ...closed, others: own },
      },
    },
  },
};

/** How a backup treats an entry of the data folder. */
export type BackupRule =
  /** SQLite files. The backup contains a snapshot of each. */
  | "state"
  | "database"
  | "databases"
  /** Files of the platform. */
  | "own"
  /** Folders that contain files of tenant code. */
  | "volumes"
  | "quarantine"
  | "images"
  | "environments"
  | "secrets key"
  | "left out";

/** Every entry of a data folder, by its path. A test compares this table with the data folder of a used server. */
const backupRules: Readonly<Record<string, BackupRule>> = {
  "state.sqlite": "state",
  "billing.sqlite": "database",
  "engine.sqlite": "database",
  logs: "databases",
  "portside.config.json": "own",
  "set-aside": "own",
  "storage/records": "own",
  "storage/volumes": "volumes",
  "storage/quarantine": "quarantine",
  images: "images",
  // The backup contains only the Python environments that images need. The next build downloads the rest.
  cache: "environments",
  // The secrets key. A backup contains the key only if the operator passes `--with-secrets-key`.
  [KEY_FILE]: "secrets key",
  [`${KEY_FILE}.new`]: "left out",
  [`${KEY_FILE}.copy`]: "left out",
  // A restore recreates the first file, and the server recreates the others.
  "state.check": "left out",
  "state.copy.sqlite": "left out",
  "state.copy.sqlite.new": "left out",
  "state.sqlite.new": "left out",
  // A backup must not bring back a session that has ended.
  "sessions.sqlite": "left out",
  "lock.sqlite": "left out",
  "start-lock.sqlite": "left out",
  // Derived from the logs and billing.sqlite.
  sql: "left out",
  // Belong to a running server.
  [PROBE_FILE]: "left out",
  engine: "left out",
  run: "left out",
  spool: "left out",
  sandbox: "left out",
  tools: "left out",
  leftovers: "left out",
  "storage/uploads": "left out",
  // Incomplete uploads. After a restore, a client starts its upload again.
  "storage/parts": "left out",
};

/** SQLite's own files next to a database. A snapshot of the database includes their content. */
const SQLITE_COMPANION =
  /^(state|state\.copy|lock|start-lock|billing|engine|sessions)\.sqlite(\.new)?-(wal|shm|journal)$/;

/** Returns the names of an SQLite file and of the files that SQLite creates next to it. */
export const withCompanions = (file: string): string[] =>
  ["", "-wal", "-shm", "-journal"].map((ending) => file + ending);

/** Returns the backup rule of a path below the data folder; undefined if the path does not belong to the platform. */
export const backupRuleOf = (path: string): BackupRule | undefined => {
  if (SQLITE_COMPANION.test(path)) return "left out";
  const [first = "", second = ""] = path.split("/");
  return backupRules[first === STORAGE ? `${first}/${second}` : first];
};

const TENANTS =
  /^(storage\/volumes\/[^/]+|storage\/quarantine\/[^/]+\/volume|images\/[^/]+\/[^/]+\/app|cache\/[^/]+\/venvs\/[^/]+)(\/|$)/s;

/** Returns whether tenant code can write to the path, which is relative to the data folder. */
export const isTenantPath = (path: string): boolean => TENANTS.test(path);

const isOwn = ({ uid }: Stats): boolean => process.geteuid === undefined || uid === process.geteuid();

/**
 * Sets the mode of a file or folder that this user owns. Returns the number of changes: 0 or 1. Returns 0 if another
 * process, such as a running server, has removed the file. Uses no handle, because closing a second handle of an open
 * SQLite file would drop this process's locks on the file.
 */
const setMode = (path: string, mode: number): number => {
  try {
    const stats = lstatSync(path, { throwIfNoEntry: false });
    if (stats === undefined || (stats.mode & 0o777) === mode || !isOwn(stats)) return 0;
    chmodSync(path, mode);
    return 1;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return 0;
  }
};

/**
 * Applies the modes of the rule to the folder and its content. Returns the number of changes. Ignores symbolic links.
 */
const tighten = (path: string, rule: Rule): number => {
  if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory() !== true) return 0;
  let changed = setMode(path, rule.folder);
  if (rule.files === undefined && rule.fixed === undefined && rule.others === undefined) return changed;
  for (const entry of readdirSync(path, { withFileTypes: true })) {
    const inner = join(path, entry.name);
    if (entry.isFile() && rule.files !== undefined) changed += setMode(inner, rule.files);
    const next = rule.fixed?.[entry.name] ?? rule.others;
    if (entry.isDirectory() && next !== undefined) changed += tighten(inner, next);
  }
  return changed;
};

const isFile = (path: string): boolean => lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === false;

const make = (path: string, { folder, fixed = {} }: Rule): void => {
  try {
    mkdirSync(path);
    // `chmod` ignores the umask.
    chmodSync(path, folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST" || isFile(path)) throw error;
  }
  for (const [name, inner] of Object.entries(fixed)) make(join(path, name), inner);
};

/** Creates the missing folders of the layout. Sets aside files that have the names of these folders. */
export const makeLayout = (dataDir: string, logger: Logger): void => {
  const files = Object.keys(layout.fixed ?? {}).filter((name) => name !== STORAGE && isFile(join(dataDir, name)));
  const kept = setAside(dataDir, files);
  if (kept !== undefined)
    logger.error("set aside files whose names are reserved for folders", { dataDir, files, kept });
  make(dataDir, layout);
};

const refuseForeign = (dataDir: string, stats: Stats): void => {
  if (isOwn(stats)) return;
  throw new DataFolderError(
    "not_owner",
    dataDir,
    `The data folder ${dataDir} belongs to user ${stats.uid}, but Portside runs as user ${process.geteuid?.()}. Its owner could read and change everything in it. Run Portside as that user, change the owner with chown, or choose another folder with --data-dir.`,
  );
};

/** Returns the folder in which a restore unpacks the new data folder. The path must not contain symbolic links. */
export const restoreFolderOf = (dataDir: string): string => `${dataDir}.restore`;

/** Resolves the path of a missing folder. The path may be a symbolic link that the operator created. */
const targetOf = (path: string): string => {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  if (stats?.isSymbolicLink() === true) return resolve(dirname(path), readlinkSync(path));
  return existsSync(dirname(path)) ? join(realpathSync(dirname(path)), basename(path)) : path;
};

/** If a restore was killed between its two renames, no data folder exists. The server must not create an empty one. */
const refuseInterruptedRestore = (dataDir: string): void => {
  if (existsSync(dataDir)) return;
  const target = targetOf(dataDir);
  const work = restoreFolderOf(target);
  if (!existsSync(work)) return;
  const kept = readdirSync(dirname(target)).filter((name) => name.startsWith(`${basename(target)}.before-`));
  const back =
    kept.length === 0
      ? ""
      : ` To use the previous folder instead, rename ${join(dirname(target), kept.sort().at(-1) ?? "")} to ${target}.`;
  throw new DataFolderError(
    "outdated",
    dataDir,
    `The data folder ${dataDir} is missing because its restore was interrupted. Run 'portside restore' again with the same file.${back} To start with an empty folder, remove ${work}.`,
  );
};

/**
 * Creates the data folder if it is missing, and removes other users' access to it. Throws a `DataFolderError` if the
 * folder cannot be used, belongs to another user, or is missing after an interrupted restore.
 */
export const openDataFolder = (dataDir: string, logger?: Logger): void => {
  try {
    refuseInterruptedRestore(dataDir);
    if (makeFolders(dataDir, FOLDER)) chmodSync(dataDir, FOLDER);
    // The path may be a symbolic link that the operator created.
    const folder = realpathSync(dataDir);
    refuseForeign(dataDir, lstatSync(folder));
    const changed = tighten(folder, layout);
    if (changed > 0) logger?.warn("removed other users' access to the data folder", { dataDir, modesChanged: changed });
  } catch (error) {
    throw explainFileError(error, dataDir) ?? error;
  }
};

/**
 * Creates the folder if it is missing. Throws if its parent is missing, so a running server does not recreate parts of
 * a removed data folder.
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

/** Opens or creates an SQLite file that only its owner can read. SQLite gives `-wal` and `-shm` files the same mode. */
export const openDatabase = (path: string, options: { readonly timeout: number }): DatabaseSync => {
  makeFolder(dirname(path));
  makePrivateFile(path);
  return new DatabaseSync(path, options);
};
