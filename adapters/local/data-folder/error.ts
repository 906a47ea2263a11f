/** Why a data folder cannot be used: a kind for programs, and words with the path and the next step for people. */
import { accessSync, constants, type Stats, statSync } from "node:fs";
import { dirname, join, sep } from "node:path";
import { type DiskFault, diskFaultOf, sqliteCodeOf } from "../../shared/runtime/disk-fault.ts";

export type DataFolderProblem =
  | "in_use"
  | "newer_version"
  | "not_a_folder"
  | "not_owner"
  | "no_permission"
  | "read_only"
  | "full"
  | "damaged"
  /** The state is missing, empty or older than the other data of the folder. */
  | "outdated"
  | "unreadable";

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
  // Node says so of a folder that it cannot make on a read-only file system.
  ENOENT: "unreadable",
  EACCES: "no_permission",
  EPERM: "no_permission",
  ENOTDIR: "not_a_folder",
  EEXIST: "not_a_folder",
  EISDIR: "unreadable",
  ELOOP: "unreadable",
};

/** Whether SQLite says that the file's content is not a sound database. */
export const isDamage = (error: unknown): boolean => [11, 26].includes(sqliteCodeOf(error) ?? -1);

/** Whether SQLite says that another connection holds the lock. */
export const isBusy = (error: unknown): boolean => sqliteCodeOf(error) === 5;

const statsOf = (path: string): Stats | undefined => {
  try {
    return statSync(path);
  } catch {
    return undefined;
  }
};

/** The path, or the nearest folder above it that exists. */
const existing = (path: string): string =>
  statsOf(path) !== undefined || dirname(path) === path ? path : existing(dirname(path));

/** What the system says to writing the path; undefined where it may be written. */
const refusalOf = (path: string): string | undefined => {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return undefined;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code;
  }
};

/** SQLite answers "unable to open" and "readonly" for many causes; the file and its folder tell which one it is. */
const refine = (problem: DataFolderProblem, path: string): DataFolderProblem => {
  if (problem !== "unreadable" && problem !== "read_only") return problem;
  const refusal = refusalOf(existing(path));
  return refusal === "EACCES" || refusal === "EROFS" ? (systemCodes[refusal] as DataFolderProblem) : problem;
};

const steps: Readonly<Record<DataFolderProblem, string>> = {
  in_use: "Another process has it locked. Stop that process and try again.",
  newer_version: "Use that version, or choose another folder with --data-dir.",
  not_a_folder: "Move the file away, or choose another folder with --data-dir.",
  not_owner: "Run Portside as that user, change the owner with chown, or choose another folder with --data-dir.",
  no_permission: "Run Portside as the user that owns it, or change its owner with chown.",
  read_only: "Mount the file system for writing, or choose another folder with --data-dir.",
  full: "Free space on that disk and try again.",
  damaged:
    "Run 'portside doctor --repair', or put a backup back with 'portside restore --force FILE'; see 'Damaged files' in docs/operations/running.md.",
  outdated: "Run 'portside doctor --repair', or put a backup back with 'portside restore --force FILE'.",
  unreadable: "Check the path, the disk and the system's log, then try again.",
};

const facts: Readonly<Record<DataFolderProblem, string>> = {
  in_use: "is locked",
  newer_version: "was written by a newer Portside",
  not_a_folder: "cannot be used as a folder: a part of the path is a file",
  not_owner: "belongs to another user",
  no_permission: "cannot be read and written: permission denied",
  read_only: "cannot be written: the file or its file system is read-only",
  full: "cannot be written: the disk is full",
  damaged: "is damaged",
  outdated: "is older than the other data of the folder",
  unreadable: "cannot be opened",
};

/** By the error alone; undefined for an error that is neither of the file system nor of SQLite. */
const problemOf = (error: unknown): DataFolderProblem | undefined => {
  const fault = diskFaultOf(error);
  if (fault !== undefined) return diskProblems[fault];
  const sqlite = sqliteCodeOf(error);
  if (sqlite !== undefined) return sqliteCodes[sqlite] ?? "unreadable";
  return systemCodes[(error as { code?: string }).code ?? ""];
};

/**
 * An error of the file system or of SQLite in words. Returns undefined for every other error, which is a bug.
 * @param path what was opened, where the error does not say
 */
export const explainFileError = (error: unknown, path: string): DataFolderError | undefined => {
  if (error instanceof DataFolderError) return error;
  const { path: named } = error as { path?: unknown };
  const rough = problemOf(error);
  if (rough === undefined) return undefined;
  const at = typeof named === "string" ? named : path;
  const kind = refine(rough, at);
  const isFolder = kind === "unreadable" && statsOf(at)?.isDirectory() === true;
  const fact = isFolder ? "is a folder, not a file" : `${facts[kind]} (${(error as Error).message})`;
  const step = isFolder ? "Move it away, or put a backup back with 'portside restore --force FILE'." : steps[kind];
  return new DataFolderError(kind, at, `${at} ${fact}. ${step}`, error);
};

/** An error that ended a start in words, if it is about a file of the data folder; a port, for one, is not. */
export const explainStartError = (error: unknown, dataDir: string): DataFolderError | undefined => {
  const { path } = error as { path?: unknown };
  const isInside = typeof path === "string" && (path === dataDir || path.startsWith(dataDir + sep));
  // The other SQLite files are opened where a failure is met.
  return isInside || sqliteCodeOf(error) !== undefined
    ? explainFileError(error, join(dataDir, "state.sqlite"))
    : error instanceof DataFolderError
      ? error
      : undefined;
};
