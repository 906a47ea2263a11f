/** Reads a data folder's state and the related files, without changing anything. */
import { accessSync, closeSync, constants, existsSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { explainFileError, isDamage } from "../data-folder/data-folder-error.ts";
import { recordPath } from "../volumes/records.ts";
import { CHECK_FILE, readCheck } from "./check-file.ts";
import type { FoundState, StateEvidence } from "./judge-state.ts";
import { hasTable, openImmutable, selectAll } from "./sql.ts";
import { digestOf, formatOf, intactVersion, readVersion } from "./version.ts";

export const STATE_FILE = "state.sqlite";
export const COPY_FILE = "state.copy.sqlite";

export interface InspectedState {
  readonly state: FoundState;
  /** The schema's version. */
  readonly format: number;
  /** The ids of the volumes in the state. */
  readonly volumes: ReadonlySet<string>;
}

/** SQLite's error codes for a file that is shorter than its header specifies, and for an unusable schema. */
const [SHORT_READ, GENERIC_ERROR] = [522, 1];

const isDamageError = (error: unknown): boolean =>
  isDamage(error) || [SHORT_READ, GENERIC_ERROR].includes((error as { errcode?: number }).errcode ?? -1);

const nothing = (state: FoundState): InspectedState => ({ state, format: 0, volumes: new Set() });

/** Detects damage in the header that makes SQLite treat the file as read-only or as an older format. */
const isHeaderDamaged = (path: string): boolean => {
  const file = openSync(path, constants.O_RDONLY);
  try {
    const header = Buffer.alloc(20);
    readSync(file, header);
    return [18, 19].some((at) => header[at] !== 1 && header[at] !== 2);
  } finally {
    closeSync(file);
  }
};

const volumesOf = (db: DatabaseSync): Set<string> =>
  new Set(hasTable(db, "volumes") ? selectAll<{ id: string }>(db, "SELECT id FROM volumes").map(({ id }) => id) : []);

const inspectOpen = (db: DatabaseSync): InspectedState => {
  const format = formatOf(db);
  const problems = selectAll<{ integrity_check: string }>(db, "PRAGMA integrity_check(1)");
  const problem = problems.map(({ integrity_check: text }) => text).join("; ");
  if (problem !== "ok") return { ...nothing({ kind: "unreadable", problem }), format };
  if (db.prepare("SELECT 1 FROM sqlite_schema").get() === undefined) return { ...nothing({ kind: "empty" }), format };
  const volumes = volumesOf(db);
  const version = readVersion(db);
  if (version === "damaged" || (version !== undefined && version.digest !== digestOf(db)))
    return { state: { kind: "altered", generation: version === "damaged" ? 0 : version.generation }, format, volumes };
  return { state: { kind: "whole", version }, format, volumes };
};

/**
 * Reads the whole file. Throws a `DataFolderError` if the file cannot be opened.
 * @param alone whether to ignore the write-ahead log and create no files next to the state
 */
export const inspectState = (path: string, alone: boolean): InspectedState => {
  try {
    if (statSync(path).size === 0) return nothing({ kind: "empty" });
    accessSync(path, constants.R_OK | constants.W_OK);
    if (isHeaderDamaged(path)) return nothing({ kind: "unreadable", problem: "file is not a database" });
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return nothing({ kind: "missing" });
    throw explainFileError(cause, path) ?? cause;
  }
  try {
    using db = alone ? openImmutable(path) : new DatabaseSync(path, { readOnly: true, timeout: 5000 });
    // Read one snapshot, because other processes may write in the meantime.
    db.exec("BEGIN");
    return inspectOpen(db);
  } catch (cause) {
    if (!isDamageError(cause)) throw explainFileError(cause, path) ?? cause;
    return nothing({ kind: "unreadable", problem: (cause as Error).message });
  }
};

const namesIn = (folder: string): string[] => {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
};

/** True if the folder contains files or is unreadable. A service can make its volume's folder unreadable. */
const hasFiles = (folder: string): boolean => {
  try {
    return readdirSync(folder).length > 0;
  } catch {
    return true;
  }
};

const remainFolders: readonly (readonly [folder: string, description: string])[] = [
  ["storage/volumes", "volumes"],
  ["storage/records", "records of volumes"],
  ["storage/quarantine", "a quarantine"],
  ["images", "images"],
  ["logs", "logs"],
];

/** Collects the evidence for `judgeState`. Throws a `DataFolderError` if a file cannot be opened. */
export const inspectDataFolder = (dataDir: string): StateEvidence & { readonly format: number } => {
  // Read the state after the check file and the copy. If another process changes the state in the meantime, the state
  // must not seem older than the other two.
  const checkPath = join(dataDir, CHECK_FILE);
  let check: StateEvidence["check"];
  try {
    check = readCheck(checkPath);
  } catch (cause) {
    throw explainFileError(cause, checkPath) ?? cause;
  }
  const copy = versionOfCopy(join(dataDir, COPY_FILE));
  const folder = join(dataDir, "storage", "volumes");
  const used = namesIn(folder).filter((id) => hasFiles(join(folder, id)));
  const { state, format, volumes } = inspectState(join(dataDir, STATE_FILE), false);
  const unknown = used.filter((id) => !volumes.has(id));
  // A server removes a volume's record before its row, so read the records after the rows.
  const recorded = unknown.filter((id) => existsSync(recordPath(join(dataDir, "storage", "records"), id)));
  const remains = remainFolders.flatMap(([path, text]) => (namesIn(join(dataDir, path)).length > 0 ? [text] : []));
  return { state, format, check, copy, unknownVolumes: unknown.length, recordedVolumes: recorded.length, remains };
};

/** Returns undefined if the copy cannot be read. */
const versionOfCopy = (path: string): StateEvidence["copy"] => {
  try {
    using db = openImmutable(path);
    return intactVersion(db);
  } catch {
    return undefined;
  }
};
