/**
 * Errors about a data folder. Each has a `kind` for programs, and a message with the path and the next step for
 * operators.
 */
import { accessSync, constants, existsSync, statSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { type DiskFault, diskFaultOf, sqliteCodeOf } from "../../shared/runtime/disk-fault.ts";

const facts = {
  in_use: "is locked",
  newer_version: "was written by a newer Portside",
  not_a_folder: "cannot be used as a folder: a part of the path is a file",
  not_owner: "belongs to another user",
  no_permission: "cannot be read or written: permission denied",
  read_only: "cannot be written: the file or its file system is read-only",
  full: "cannot be written: the disk is full",
  damaged: "is damaged",
  /** The state is missing, empty or older than the other data in the folder. */
  outdated: "is older than the other data in the folder",
  /** The secrets key is missing or wrong. */
  secrets_key: "does not contain the key of the stored secrets",
  unreadable: "cannot be opened",
} as const;

export type DataFolderProblem = keyof typeof facts;

const steps: Readonly<Record<DataFolderProblem, string>> = {
  in_use: "Another process has locked it. Stop that process and try again.",
  newer_version: "Use that version, or choose another folder with --data-dir.",
  not_a_folder: "Move the file away, or choose another folder with --data-dir.",
  not_owner: "Run Portside as that user, change the owner with chown, or choose another folder with --data-dir.",
  no_permission: "Run Portside as the user that owns it, or change its owner with chown.",
  read_only: "Mount the file system for writing, or choose another folder with --data-dir.",
  full: "Free space on that disk and try again.",
  damaged:
    "Run 'portside doctor --repair', or restore a backup with 'portside restore --force FILE'. See 'Damaged files' in docs/operations/running.md.",
  outdated: "Run 'portside doctor --repair', or restore a backup with 'portside restore --force FILE'.",
  secrets_key: "Put the right key there, or name its file with --secrets-key-file.",
  unreadable: "Check the path, the disk and the system's log, then try again.",
};

export class DataFolderError extends Error {
  override readonly name = "DataFolderError";
  readonly kind: DataFolderProblem;
  /** The file or folder that caused the problem. */
  readonly path: string;

  constructor(kind: DataFolderProblem, path: string, message: string, cause?: unknown) {
    super(message, { cause });
    this.kind = kind;
    this.path = path;
  }
}

const diskProblems: Readonly<Record<DiskFault, DataFolderProblem>> = {
  full: "full",
  read_only: "read_only",
  failing: "unreadable",
};

/** SQLite's primary result codes: https://www.sqlite.org/rescode.html */
const sqliteCodes: Readonly<Record<number, DataFolderProblem>> = {
  3: "no_permission",
  5: "in_use",
  11: "damaged",
  26: "damaged",
};

const systemCodes: Readonly<Record<string, DataFolderProblem>> = {
  // Node.js reports ENOENT for a folder that it cannot create on a read-only file system.
  ENOENT: "unreadable",
  EACCES: "no_permission",
  EPERM: "no_permission",
  ENOTDIR: "not_a_folder",
  EEXIST: "not_a_folder",
  EISDIR: "unreadable",
  ELOOP: "unreadable",
};

/** Returns whether SQLite reports that the file is damaged or is not a database. */
export const isDamage = (error: unknown): boolean => [11, 26].includes(sqliteCodeOf(error) ?? -1);

/** Returns whether SQLite reports that another connection holds the lock. */
export const isBusy = (error: unknown): boolean => sqliteCodeOf(error) === 5;

/** Returns the path, or its nearest existing parent folder. */
export const nearestExisting = (path: string): string =>
  existsSync(path) || dirname(path) === path ? path : nearestExisting(dirname(path));

/** Returns the system's error code if this process cannot read or write the path; undefined if it can. */
const refusalOf = (path: string): string | undefined => {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
};

const refusals: Readonly<Record<string, DataFolderProblem>> = { EACCES: "no_permission", EROFS: "read_only" };

/**
 * Returns a more precise problem if the permissions of the path explain the error. SQLite reports "unable to open" and
 * "readonly" for many causes.
 */
const refine = (problem: DataFolderProblem, path: string): DataFolderProblem => {
  if (problem !== "unreadable" && problem !== "read_only") return problem;
  return refusals[refusalOf(nearestExisting(path)) ?? ""] ?? problem;
};

/** Classifies an error by its code. Returns undefined if neither the file system nor SQLite raised the error. */
const problemOf = (error: unknown): DataFolderProblem | undefined => {
  const fault = diskFaultOf(error);
  if (fault !== undefined) return diskProblems[fault];
  const sqlite = sqliteCodeOf(error);
  if (sqlite !== undefined) return sqliteCodes[sqlite] ?? "unreadable";
  return systemCodes[(error as { code?: string }).code ?? ""];
};

/**
 * Explains an error of the file system or of SQLite. Returns undefined for any other error; such an error
 * is a bug.
 * @param path the path to report if the error contains none
 */
export const explainFileError = (error: unknown, path: string): DataFolderError | undefined => {
  if (error instanceof DataFolderError) return error;
  const { path: named } = error as { path?: unknown };
  const rough = problemOf(error);
  if (rough === undefined) return undefined;
  const at = typeof named === "string" ? named : path;
  const kind = refine(rough, at);
  const isFolder = kind === "unreadable" && existsSync(at) && statSync(at).isDirectory();
  const fact = isFolder ? "is a folder, not a file" : `${facts[kind]} (${(error as Error).message})`;
  const step = isFolder ? "Move it away, or restore a backup with 'portside restore --force FILE'." : steps[kind];
  return new DataFolderError(kind, at, `${at} ${fact}. ${step}`, error);
};

export const noDataFolder = (dataDir: string): DataFolderError =>
  new DataFolderError("unreadable", dataDir, `${dataDir} contains no data. Name the data folder with --data-dir.`);

/**
 * Explains an error at startup that the data folder caused. Returns undefined for other causes, such as a port in use.
 */
export const explainStartError = (error: unknown, dataDir: string): DataFolderError | undefined => {
  const { path } = error as { path?: unknown };
  const isInside = typeof path === "string" && (path === dataDir || path.startsWith(dataDir + sep));
  // An SQLite error here can only come from state.sqlite, because the code that opens the other SQLite files handles
  // their errors.
  return isInside || sqliteCodeOf(error) !== undefined
    ? explainFileError(error, join(dataDir, "state.sqlite"))
    : error instanceof DataFolderError
      ? error
      : undefined;
};
