/** Whether the engine can do its work now: each part is tried, and what does not work is named without paths. */
import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Logger } from "../../core/ports/system.ts";
import { explainFileError } from "./data-folder/error.ts";

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
  const probe = join(folder, `probe-${randomUUID()}`);
  try {
    await writeFile(probe, Buffer.alloc(PROBE_BYTES), { flag: "wx", mode: 0o600 });
  } finally {
    await rm(probe, { force: true });
  }
};

/** Takes the write lock and reads; a change that is undone is enough to meet a file that is read-only or damaged. */
const tryState = (db: DatabaseSync): void => {
  db.exec("BEGIN IMMEDIATE");
  try {
    db.exec("UPDATE settings SET value = value");
  } finally {
    if (db.isTransaction) db.exec("ROLLBACK");
  }
};

const words = { full: "the disk is full", read_only: "it is read-only", damaged: "it is damaged" } as const;

const reasonOf = (error: unknown, path: string): string => {
  const kind = explainFileError(error, path)?.kind;
  return kind === "full" || kind === "read_only" || kind === "damaged" ? ` (${words[kind]})` : "";
};

/** What does not work, in words that anyone may read. */
export const findDown = async ({ dataDir, db, losesLogs, logger }: HealthDeps): Promise<string[]> => {
  const at = (...parts: string[]) => join(dataDir, ...parts);
  const parts: readonly { name: string; path: string; attempt: () => unknown }[] = [
    { name: "the state cannot be written", path: at("state.sqlite"), attempt: () => tryState(db) },
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
