/**
 * Writes the accounts' log files in the caller's thread. Assigns a position to each entry when the platform reads the
 * entry. Keeps entries in memory for about a fifth of a second, and writes them in batches.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type LogPosition, nextPosition } from "../../../core/domain/logs/cursor.ts";
import { isWritable, type NewLogEntry } from "../../../core/domain/logs/entry.ts";
import { type Instant, millisOf, plusMillis } from "../../../core/domain/wire/instant.ts";
import { unavailable } from "../../../core/errors.ts";
import type { LogScope, LogStore } from "../../../core/ports/log-store.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import { noTelemetry, type Telemetry } from "../../../core/ports/telemetry.ts";
import { errAsync, ResultAsync } from "../../../core/result.ts";
import { EntryWaits } from "../../shared/logs/entry-waits.ts";
import { isDamage } from "../data-folder/data-folder-error.ts";
import { fileIdOf } from "../data-folder/file-id.ts";
import { type Amount, Backlog, reaches } from "./backlog.ts";
import { LogFile } from "./log-file.ts";
import { LOG_ENDING, logPath } from "./log-path.ts";
import { LogRepairs } from "./log-repairs.ts";
import { charsOf, type NewRow, rowOf } from "./rows.ts";
import { entriesIn, type ServiceOutput } from "./service-output.ts";

const FLUSH_MS = 200;

/** The size of one write, and the pause after it. */
export interface Pace {
  readonly batch: Amount;
  /** The length of the pause, as a multiple of the write's duration. */
  readonly rest: number;
}

/** Requests run in the same thread: a write blocks them for about half a millisecond, and the pause lets them run. */
const betweenRequests: Pace = { batch: { entries: 50, chars: 1024 * 1024 }, rest: 2 };
/** In a separate thread, a write blocks no request. Large writes without pauses take less time in total. */
export const inOwnThread: Pace = { batch: { entries: 500, chars: 1024 * 1024 }, rest: 0 };

const RETAIN_MS = 10 * 60_000;
const LOSING_MS = 30_000;

/** Returns whether a loss of entries at the given time is recent enough for `isLosing`. */
export const isRecent = (lostAt: number): boolean => performance.now() - lostAt < LOSING_MS;

/** Minimum time between two attempts to open a file, so that not every entry causes an attempt. */
const REOPEN_MS = 1000;

export interface LogWriterConfig {
  readonly folder: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly telemetry?: Telemetry;
  readonly retentionDays: number;
  /** Limit per account, in bytes. */
  readonly maxBytes: number;
}

/** The operations of the log that the engine uses. */
export interface EngineLogs {
  /**
   * Queues an entry. If the queue is full, returns a promise that resolves when the queue has room. Awaiting it slows
   * callers down to the speed of the disk.
   * @param at when the platform received the entry; undefined if it has just received it
   */
  push(entry: NewLogEntry, at?: Instant): Promise<void> | undefined;
  /** Queues the output of a service, like `push`. */
  pushOutput(output: ServiceOutput, at?: Instant): Promise<void> | undefined;
  /** Resolves after the write, so that a crash of the server cannot lose a deploy's outcome. */
  append(entries: readonly NewLogEntry[]): ReturnType<LogStore["append"]>;
  /** Resolves when the entries of the account that were queued before the call are in the file or lost. */
  writeAll(owner: AccountId): Promise<void>;
  /** Resolves when a service logs an entry after the call, or when the signal aborts. */
  nextEntry(scope: LogScope, signal: AbortSignal): Promise<void>;
  /**
   * Replaces the account's file if it is still the damaged one. Resolves when the readable entries are recovered.
   * @param damaged the id of the damaged file; two readers may report the same file
   */
  repair(owner: AccountId, damaged: string): Promise<void>;
  /** Number of entries not yet written to a file. */
  readonly waiting: number;
  /** Whether entries were lost within the last 30 seconds. */
  isLosing(): Promise<boolean>;
  /** Writes all waiting entries and closes the files. */
  close(): Promise<void>;
}

/** The error of `append` if at least one entry may be missing from the file. */
export const unwritable = () => unavailable("The log cannot be written. Try again.", 5);

interface AccountLog {
  file: LogFile;
  /** Position of each service's last entry. */
  readonly last: Map<string, LogPosition>;
  /** Waiting rows, in the batches in which they will be written. */
  readonly waiting: Batch[];
  /** The number of writes that have lost entries. */
  failedWrites: number;
}

/** Rows that one write can take. */
interface Batch {
  readonly rows: NewRow[];
  chars: number;
}

/** Adds a row to the last batch, or to a new batch if the last one is full. */
const addRow = (batches: Batch[], row: NewRow, bound: Amount): void => {
  const chars = charsOf(row);
  const last = batches.at(-1);
  if (last === undefined || last.rows.length === bound.entries || last.chars + chars > bound.chars)
    batches.push({ rows: [row], chars });
  else {
    last.rows.push(row);
    last.chars += chars;
  }
};

/** Returns `at`, or `now` if `at` is missing or in the future. A time in the future would shift all later entries. */
export const timeOf = (now: Instant, at: Instant | undefined): Instant => (at === undefined || at > now ? now : at);

/** Returns the age of the first row, which is the oldest, in seconds. */
const lagSeconds = ([first]: readonly NewRow[], now: Instant): number =>
  first === undefined ? 0 : Math.max(0, Number(now - first.ns) / 1e9);

export class LogWriter implements EngineLogs {
  readonly #config: LogWriterConfig;
  readonly #pace: Pace;
  readonly #telemetry: Telemetry;
  readonly #accounts = new Map<AccountId, AccountLog>();
  readonly #unopened = new Map<AccountId, { readonly until: Instant; readonly cause: unknown }>();
  readonly #repairs: LogRepairs;
  readonly #retention: NodeJS.Timeout;
  readonly #backlog = new Backlog();
  readonly #waits = new EntryWaits();
  #lostAt = Number.NEGATIVE_INFINITY;
  #closed = false;
  #retaining = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(config: LogWriterConfig, pace = betweenRequests) {
    this.#config = config;
    this.#pace = pace;
    this.#telemetry = config.telemetry ?? noTelemetry;
    this.#repairs = new LogRepairs(config);
    this.#repairs.resume(config.folder);
    this.#retention = setInterval(() => void this.#retain(), RETAIN_MS).unref();
  }

  push(entry: NewLogEntry, at?: Instant): Promise<void> | undefined {
    this.#take(entry, timeOf(this.#config.clock.now(), at));
    return this.#backlog.room();
  }

  pushOutput(output: ServiceOutput, at?: Instant): Promise<void> | undefined {
    for (const [entry, instant] of entriesIn(output, timeOf(this.#config.clock.now(), at))) this.#take(entry, instant);
    return this.#backlog.room();
  }

  append(entries: readonly NewLogEntry[]): ReturnType<LogStore["append"]> {
    const now = this.#config.clock.now();
    const taken = entries.map((entry) => this.#take(entry, now));
    if (!taken.every(Boolean)) return errAsync(unwritable());
    const accounts = [...new Set(entries.map(({ owner }) => owner))].map((owner) => this.#account(owner));
    const failedBefore = accounts.map(({ failedWrites }) => failedWrites);
    const write = async (): Promise<void> => {
      await Promise.all(accounts.map((account) => this.#written(account)));
      if (accounts.some(({ failedWrites }, index) => failedWrites !== failedBefore[index])) throw unwritable();
    };
    return ResultAsync.fromPromise(write(), unwritable);
  }

  nextEntry(scope: LogScope, signal: AbortSignal): Promise<void> {
    return this.#waits.next(scope, signal);
  }

  get waiting(): number {
    return this.#backlog.entries;
  }

  async isLosing(): Promise<boolean> {
    return isRecent(this.#lostAt);
  }

  async writeAll(owner: AccountId): Promise<void> {
    const repair = this.#repairs.running(this.#pathOf(owner));
    // Awaiting undefined would delay the write by a microtask.
    if (repair !== undefined) await repair;
    const account = this.#accounts.get(owner);
    if (account !== undefined) await this.#written(account);
  }

  async repair(owner: AccountId, damaged: string): Promise<void> {
    const path = this.#pathOf(owner);
    if (!this.#closed && fileIdOf(path) === damaged) {
      const account = this.#account(owner);
      // Opening the file may have replaced it.
      if (fileIdOf(path) === damaged) this.#replace(account, path, "a page cannot be read");
    }
    await this.#repairs.running(path);
  }

  /** Writes all waiting entries. */
  flush(): void {
    for (const account of this.#accounts.values()) while (account.waiting.length > 0) this.#write(account);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearInterval(this.#retention);
    clearTimeout(this.#timer);
    this.flush();
    // Release waiting writers, because instances may continue after the engine has closed its log.
    this.#backlog.release();
    for (const { file } of this.#accounts.values()) file.close();
    this.#accounts.clear();
    await this.#repairs.close();
  }

  #pathOf(owner: AccountId): string {
    return logPath(this.#config.folder, owner);
  }

  /** Assigns a position to an entry and queues it. Returns false if the caller should retry. */
  #take(entry: NewLogEntry, now: Instant): boolean {
    let account: AccountLog;
    try {
      account = this.#account(entry.owner);
    } catch {
      // `#account` has already logged the error.
      return false;
    }
    try {
      const last = account.last.get(entry.service) ?? this.#lastOf(account, entry);
      const position = nextPosition(last, now);
      // Convert the entry now, so that an invalid entry cannot fail its whole batch.
      const row = rowOf({ ...entry, ...position });
      account.last.set(entry.service, position);
      addRow(account.waiting, row, this.#pace.batch);
      this.#backlog.add(charsOf(row));
    } catch (cause) {
      this.#lost(1, cause);
      // If the entry can never be written, do not request a retry, which would duplicate the call's other entries.
      return !isWritable(entry);
    }
    this.#timer ??= setTimeout(() => this.#flushSome(), FLUSH_MS);
    this.#waits.received(entry);
    return true;
  }

  #lastOf(account: AccountLog, entry: NewLogEntry): LogPosition | undefined {
    try {
      return account.file.last(entry.service);
    } catch (cause) {
      if (!isDamage(cause)) throw cause;
      this.#replace(account, account.file.path, cause);
      return undefined;
    }
  }

  #account(owner: AccountId): AccountLog {
    const known = this.#accounts.get(owner);
    if (known !== undefined) return known;
    const { folder, clock, logger } = this.#config;
    const failed = this.#unopened.get(owner);
    if (failed !== undefined && failed.until > clock.now()) throw failed.cause;
    try {
      const made = this.#openAccount(this.#pathOf(owner));
      this.#accounts.set(owner, made);
      this.#unopened.delete(owner);
      return made;
    } catch (cause) {
      this.#lostAt = performance.now();
      this.#unopened.set(owner, { until: plusMillis(clock.now(), REOPEN_MS), cause });
      logger.error("losing log entries: could not open an account's log", { folder, cause });
      throw cause;
    }
  }

  #openAccount(path: string): AccountLog {
    const last = new Map<string, LogPosition>();
    try {
      return { file: new LogFile(path), last, waiting: [], failedWrites: 0 };
    } catch (cause) {
      if (!isDamage(cause)) throw cause;
      const file = this.#repairs.replace(path, cause, () => [...last.keys()]);
      return { file, last, waiting: [], failedWrites: 0 };
    }
  }

  /** Replaces the account's damaged file with a new one. */
  #replace(account: AccountLog, path: string, cause: unknown): void {
    account.file.close();
    account.file = this.#repairs.replace(path, cause, () => [...account.last.keys()]);
  }

  /** Writes one batch and schedules the next. Serves accounts round-robin. */
  #flushSome(): void {
    this.#timer = undefined;
    const begun = performance.now();
    let done: Amount = { entries: 0, chars: 0 };
    for (const [owner, account] of [...this.#accounts]) {
      if (account.waiting.length === 0) continue;
      const { entries, chars } = this.#write(account);
      done = { entries: done.entries + entries, chars: done.chars + chars };
      this.#accounts.delete(owner);
      this.#accounts.set(owner, account);
      if (reaches(done, this.#pace.batch)) break;
    }
    if (this.#backlog.entries > 0)
      this.#timer = setTimeout(() => this.#flushSome(), (performance.now() - begun) * this.#pace.rest);
    this.#backlog.release();
  }

  /** Writes the entries that are waiting now. Yields to the event loop between batches. */
  async #written(account: AccountLog): Promise<void> {
    for (let left = account.waiting.length; left > 0 && account.waiting.length > 0; ) {
      this.#write(account);
      left -= 1;
      if (left > 0) await yieldToEventLoop();
    }
  }

  /** Writes the first batch of waiting entries and returns its size. */
  #write(account: AccountLog): Amount {
    const batch = account.waiting.shift();
    if (batch === undefined) return { entries: 0, chars: 0 };
    const { rows, chars } = batch;
    const done = { entries: rows.length, chars };
    this.#backlog.remove(done);
    try {
      const failed = this.#writeRows(account, rows);
      if (failed.length > 0) {
        account.failedWrites++;
        this.#lost(failed.length, failed[0]);
      }
      this.#telemetry.logStored(rows.length - failed.length, lagSeconds(rows, this.#config.clock.now()));
    } catch (cause) {
      account.failedWrites++;
      this.#lost(rows.length, cause);
    }
    return done;
  }

  #writeRows(account: AccountLog, rows: readonly NewRow[]): readonly unknown[] {
    try {
      return account.file.write(rows);
    } catch (cause) {
      if (!isDamage(cause)) throw cause;
      this.#replace(account, account.file.path, cause);
      return account.file.write(rows);
    }
  }

  /** Drops entries that cannot be written, because a full disk must not stop the services. */
  #lost(entries: number, cause: unknown): void {
    this.#lostAt = performance.now();
    this.#telemetry.logLost(entries);
    this.#config.logger.error("lost log entries: could not write the log", { entries, cause });
  }

  /** Applies the retention, including to accounts that have not logged since the start. */
  async #retain(): Promise<void> {
    const { folder, logger } = this.#config;
    if (this.#retaining) return;
    this.#retaining = true;
    const names = existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith(LOG_ENDING)) : [];
    if (names.length > 0) this.#repairs.forget(folder, millisOf(this.#oldest()));
    for (const name of names)
      try {
        await this.#retainFile(name);
      } catch (cause) {
        logger.warn("could not remove old log entries", { folder, name, cause });
      }
    this.#retaining = false;
  }

  /** Returns the time before which entries have expired. */
  #oldest(): Instant {
    return plusMillis(this.#config.clock.now(), -this.#config.retentionDays * 86_400_000);
  }

  async #retainFile(name: string): Promise<void> {
    const { folder, maxBytes } = this.#config;
    const path = join(folder, name);
    const repair = this.#repairs.running(path);
    if (repair !== undefined) await repair;
    if (this.#closed) return;
    const before = this.#oldest();
    const open = [...this.#accounts].find(([owner]) => this.#pathOf(owner) === path)?.[1];
    const account = open ?? this.#openAccount(path);
    try {
      while (!this.#closed && account.file.retain(before, maxBytes)) await yieldToEventLoop();
    } catch (cause) {
      if (!isDamage(cause)) throw cause;
      this.#replace(account, path, cause);
    } finally {
      if (account !== open) account.file.close();
    }
  }
}
