/**
 * Repairs damaged log files. Sets each one aside and copies its readable rows to a new file. Writes continue during the
 * repair; reads of that log wait.
 */
import { existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import { z } from "zod";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { nextPosition } from "../../../core/domain/logs/cursor.ts";
import { timestampOf } from "../../../core/domain/wire/instant.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import { LogFile } from "./log-file.ts";
import { readableRows } from "./readable-rows.ts";
import { type NewRow, rowOf } from "./rows.ts";

/** Marks a damaged file until its readable rows are copied, so that a restart can continue an interrupted copy. */
const UNREAD = ".unread";
const DAMAGED = ".damaged-";

/**
 * Suffixes of a database and its companion files. The database must move first. Otherwise, a reader in another process
 * could open the database without its companion files and create new ones. SQLite would then use these files for the
 * next database at this path.
 */
const endings = ["", "-wal", "-shm", "-journal"];

/**
 * Renames the damaged file. The file stays in the log folder, because it contains an account's log, to which retention
 * applies.
 */
const keep = (path: string, kept: string): void => {
  for (const ending of endings) if (existsSync(path + ending)) renameSync(path + ending, kept + ending);
};

const isJsonOrNull = (value: string | null): boolean => {
  try {
    return value === null || typeof JSON.parse(value) === "object";
  } catch {
    return false;
  }
};

const text = z.string().nullable();
const json = text.refine(isJsonOrNull);
const integer = z.bigint().transform(Number);

/** Parses the columns of a record. Fails if the content is damaged. */
const recordSchema = z
  .tuple([z.string(), z.bigint(), integer, integer, z.string(), text, text, text, json, json])
  .transform(([service, ns, ord, severity, log, revision, instance, text, json, http]): NewRow => {
    return { service, ns, ord, severity, log, revision, instance, text, json, http };
  });

const noticeOf = (service: string, saved: number, kept: string) => ({
  owner: "" as AccountId,
  service: service as DeploymentName,
  severity: "ERROR" as const,
  logName: "platform" as const,
  json: {
    event: "log_damaged",
    message: `The account's log file was damaged. Recovered entries of all its services: ${saved}. Other entries may be missing.`,
    file: kept,
  },
});

export class LogRepairs {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #running = new Map<string, Promise<void>>();
  #closed = false;

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Continues the repairs that an earlier process did not finish. */
  resume(folder: string): void {
    for (const name of existsSync(folder) ? readdirSync(folder) : []) {
      if (!name.endsWith(UNREAD)) continue;
      const kept = join(folder, name.slice(0, -UNREAD.length));
      const path = kept.slice(0, kept.lastIndexOf(DAMAGED));
      if (existsSync(kept)) {
        // The process may have ended after it moved the database but before it moved the companions.
        if (!existsSync(path)) keep(path, kept);
        this.#begin(path, kept, () => []);
      } else rmSync(kept + UNREAD);
    }
  }

  /**
   * Sets the damaged file aside. Returns a new file, to which the old rows are copied in the background.
   * @param services services whose log gets a notice, in addition to those in the file
   */
  replace(path: string, cause: unknown, services: () => readonly string[]): LogFile {
    const kept = `${path}${DAMAGED}${timestampOf(this.#clock.now()).slice(0, 23).replaceAll(/[:.+]/g, "-")}`;
    writeFileSync(kept + UNREAD, "", { mode: 0o600 });
    keep(path, kept);
    this.#logger.error("a log file is damaged; set it aside and started to recover its entries", { path, kept, cause });
    const file = new LogFile(path);
    this.#begin(path, kept, services);
    return file;
  }

  /** Deletes damaged files that were last written before the given time, because retention applies to them. */
  forget(folder: string, before: number): void {
    for (const name of readdirSync(folder)) {
      const path = join(folder, name);
      const isOld = name.includes(DAMAGED) && !existsSync(path + UNREAD) && statSync(path).mtimeMs < before;
      if (isOld && !name.endsWith(UNREAD)) rmSync(path, { force: true });
    }
  }

  /** Resolves when the repair has recovered the readable entries or has failed; undefined if no repair is running. */
  running(path: string): Promise<void> | undefined {
    return this.#running.get(path);
  }

  async close(): Promise<void> {
    this.#closed = true;
    await Promise.all(this.#running.values());
  }

  #begin(path: string, kept: string, services: () => readonly string[]): void {
    const before = this.#running.get(path) ?? Promise.resolve();
    const work = before
      .then(() => this.#save(path, kept, services))
      .catch((cause: unknown) =>
        this.#logger.error("could not recover the entries of a damaged log file", { path, kept, cause }),
      )
      .finally(() => {
        if (this.#running.get(path) === work) this.#running.delete(path);
      });
    this.#running.set(path, work);
  }

  async #save(path: string, kept: string, services: () => readonly string[]): Promise<void> {
    const file = new LogFile(path);
    const found = new Set<string>();
    let saved = 0;
    try {
      for (const records of readableRows(kept)) {
        if (this.#closed) return;
        const rows = records.flatMap((record) => recordSchema.safeParse(record).data ?? []);
        saved += file.restore(rows);
        for (const { service } of rows) found.add(service);
        await yieldToEventLoop();
      }
      file.restore([...new Set([...found, ...services()])].map((service) => this.#notice(file, service, saved, kept)));
      rmSync(kept + UNREAD);
      this.#logger.warn("recovered the readable entries of a damaged log file", { path, kept, entries: saved });
    } finally {
      file.close();
    }
  }

  #notice(file: LogFile, service: string, saved: number, kept: string): NewRow {
    const entry = noticeOf(service, saved, kept.slice(kept.lastIndexOf("/") + 1));
    return rowOf({ ...entry, ...nextPosition(file.last(service), this.#clock.now()) });
  }
}
