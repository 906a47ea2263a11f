/** Whether the engine can do its work now: each part is tried, and what does not work is named without paths. */
import { statSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Logger } from "../../core/ports/system.ts";
import { explainFileError } from "./data-folder/data-folder-error.ts";
import { PROBE_FILE } from "./data-folder/layout.ts";
import { STATE_FILE } from "./state/inspect.ts";
import { LOCK_FILE } from "./state/lock-data-dir.ts";

export interface HealthDeps {
  readonly dataDir: string;
  readonly db: DatabaseSync;
  /** True while log entries are being lost. */
  readonly losesLogs: () => boolean;
  readonly logger: Logger;
}

/** A disk with less room than this cannot take a deploy or a log for long. */
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
 * A change that is undone meets a file that is read-only or damaged. It writes nothing to the disk, so a file beside the
 * state does.
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

const words = { full: "the disk is full", read_only: "it is read-only", damaged: "it is damaged" } as const;

const reasonOf = (error: unknown, path: string): string => {
  const kind = explainFileError(error, path)?.kind;
  return kind === "full" || kind === "read_only" || kind === "damaged" ? ` (${words[kind]})` : "";
};

interface UsedFile {
  readonly path: string;
  readonly dev: number;
  readonly ino: number;
}

const usedFile = (path: string): UsedFile => {
  const { dev, ino } = statSync(path);
  return { path, dev, ino };
};

const isReplaced = ({ path, dev, ino }: UsedFile): boolean => {
  try {
    const now = statSync(path, { throwIfNoEntry: false });
    return now === undefined || now.dev !== dev || now.ino !== ino;
  } catch {
    // The attempts to write say what is wrong.
    return false;
  }
};

/**
 * Notes which folder and which state the server uses. If another one is under their names later, what the server writes
 * is lost with its end.
 * @returns finds what does not work, in words that anyone may read
 */
export const watchHealth = (deps: HealthDeps): (() => Promise<string[]>) => {
  const { dataDir, logger } = deps;
  const used = [dataDir, join(dataDir, STATE_FILE), join(dataDir, LOCK_FILE)].map(usedFile);
  return async () => {
    const replaced = used.find(isReplaced);
    if (replaced === undefined) return findDown(deps);
    logger.error("not ready: the data folder was removed or replaced while the server runs, and is not made again", {
      path: replaced.path,
      next: "stop the server, put the data folder back, such as with 'portside restore', and start again",
    });
    return ["the data folder was removed or replaced while the server runs; put it back and restart the server"];
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
  if (losesLogs() && !down.some((name) => name.startsWith("logs"))) down.push("log entries are being lost");
  return down;
};
