/**
 * `state.check` records the newest version of the state outside of the state. The server uses it at startup to detect
 * that `state.sqlite` has become older, for example because SQLite dropped a damaged write-ahead log.
 *
 * The file has two records of constant length, which the server overwrites alternately. If one is damaged, for example
 * because a power cut interrupted a write, the other is at most one write older. Each change costs one flush. Writing
 * and renaming a new file would cost three, and could fail on a full disk.
 */
import { closeSync, constants, fdatasyncSync, fsyncSync, openSync, readFileSync, writeSync } from "node:fs";
import { dirname } from "node:path";
import { parseVersion, renderVersion, type StateVersion } from "./version.ts";

export const CHECK_FILE = "state.check";

/** The size of a padded record in bytes, including its line feed. */
const RECORD = 128;

export interface StateCheck {
  readonly found: "whole" | "missing" | "damaged";
  /** The newest readable version. */
  readonly version: StateVersion | undefined;
}

const read = (path: string): (StateVersion | undefined)[] => {
  const bytes = readFileSync(path);
  return [0, 1].map((slot) => parseVersion(bytes.toString("latin1", slot * RECORD, (slot + 1) * RECORD)));
};

/** Throws if the file exists and cannot be read. */
export const readCheck = (path: string): StateCheck => {
  try {
    const [version] = read(path)
      .filter((record) => record !== undefined)
      .sort((one, other) => other.generation - one.generation);
    return { found: version === undefined ? "damaged" : "whole", version };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    return { found: "missing", version: undefined };
  }
};

const write = (path: string, slots: readonly number[], version: StateVersion): void => {
  const file = openSync(path, constants.O_WRONLY | constants.O_CREAT | constants.O_NOFOLLOW, 0o600);
  try {
    for (const slot of slots) writeSync(file, `${renderVersion(version).padEnd(RECORD - 1)}\n`, slot * RECORD);
    fdatasyncSync(file);
  } finally {
    closeSync(file);
  }
};

/** Flushes the entries of a folder to disk. */
export const syncFolder = (path: string): void => {
  const folder = openSync(path, constants.O_RDONLY);
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
};

/** Overwrites both records. */
export const resetCheck = (path: string, version: StateVersion): void => {
  write(path, [0, 1], version);
  syncFolder(dirname(path));
};

/** Records the version unless the file contains it or a newer one. The caller must hold the state's write lock. */
export const writeCheck = (path: string, version: StateVersion): void => {
  if (readCheck(path).found !== "whole") return resetCheck(path, version);
  const [first = -1, second = -1] = read(path).map((record) => record?.generation);
  if (Math.max(first, second) < version.generation) write(path, [first > second ? 1 : 0], version);
};
