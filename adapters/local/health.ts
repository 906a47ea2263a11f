/** The health check of the server. Tries to write to each part of the data folder. The messages contain no paths. */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Logger } from "../../core/ports/system.ts";
import { explainFileError } from "./data-folder/data-folder-error.ts";
import { fileIdOf } from "./data-folder/file-id.ts";
import { PROBE_FILE } from "./data-folder/layout.ts";
import { STATE_FILE } from "./state/inspect.ts";
import { LOCK_FILE } from "./state/lock-data-dir.ts";

export interface HealthDeps {
  readonly dataDir: string;
  readonly db: DatabaseSync;
  /** Resolves to true while log entries are being lost. */
  readonly losesLogs: () => Promise<boolean>;
  readonly logger: Logger;
}

/** The size of the test file. A disk with less free space is nearly too full for deploys and logs. */
const PROBE_BYTES = 64 * 1024;

const tryWriting = async (folder: string): Promise<void> => {
  const probe = join(folder, PROBE_FILE);
  try {
    await writeFile(probe, Buffer.alloc(PROBE_BYTES), { mode: 0o600, flush: true });
  } finally {
    await rm(probe, { force: true });
  }
};

/**
 * A rolled-back change detects a read-only or damaged database, but writes nothing to the disk. The test file next to
 * the database detects a full disk.
 */
const tryState = async (db: DatabaseSync, dataDir: string): Promise<void> => {
  db.exec("BEGIN IMMEDIATE");
  try {
    db.exec("UPDATE settings SET value = value");
  } finally {
    if (db.isTransaction) db.exec("ROLLBACK");
  }
  await tryWriting(dataDir);
};

const reasons = { full: "the disk is full", read_only: "it is read-only", damaged: "it is damaged" } as const;

const reasonOf = (error: unknown, path: string): string => {
  const kind = explainFileError(error, path)?.kind;
  return kind === "full" || kind === "read_only" || kind === "damaged" ? ` (${reasons[kind]})` : "";
};

const usedFile = (path: string) => ({ path, id: fileIdOf(path) });

const isReplaced = ({ path, id }: ReturnType<typeof usedFile>): boolean => {
  try {
    return fileIdOf(path) !== id;
  } catch {
    // `findDown` fails to write to the same path, and reports the problem.
    return false;
  }
};

/**
 * Records the data folder and the state that the server has open. If their paths later lead to other files, everything
 * that the server writes is lost when it stops.
 * @returns a function that returns a message for each problem
 */
export const watchHealth = (deps: HealthDeps): (() => Promise<string[]>) => {
  const { dataDir, logger } = deps;
  const used = [dataDir, join(dataDir, STATE_FILE), join(dataDir, LOCK_FILE)].map(usedFile);
  return async () => {
    const replaced = used.find(isReplaced);
    if (replaced === undefined) return findDown(deps);
    logger.error("not ready: the data folder was removed or replaced while the server was running", {
      path: replaced.path,
      next: "stop the server, restore the data folder, for example with 'portside restore', and start the server again",
    });
    return ["the data folder was removed or replaced while the server was running; restore it and restart the server"];
  };
};

const findDown = async ({ dataDir, db, losesLogs, logger }: HealthDeps): Promise<string[]> => {
  const at = (...parts: string[]) => join(dataDir, ...parts);
  const parts: readonly { name: string; path: string; attempt: () => unknown }[] = [
    { name: "the state cannot be written", path: at(STATE_FILE), attempt: () => tryState(db, dataDir) },
    { name: "the data folder cannot be written", path: at("spool"), attempt: () => tryWriting(at("spool")) },
    { name: "volumes cannot be written", path: at("storage"), attempt: () => tryWriting(at("storage", "uploads")) },
    { name: "logs cannot be written", path: at("logs"), attempt: () => tryWriting(at("logs")) },
  ];
  const down: string[] = [];
  for (const { name, path, attempt } of parts)
    try {
      await attempt();
    } catch (cause) {
      down.push(name + reasonOf(cause, path));
      logger.error(`not ready: ${name}`, { path, cause });
    }
  if ((await losesLogs()) && !down.some((name) => name.startsWith("logs"))) down.push("log entries are being lost");
  return down;
};
