/**
 * The engine's log: entries get their place the moment the platform reads them, are kept in memory for a
 * fifth of a second at most, and are written in batches. Reading writes what is waiting first, so nothing is
 * ever invisible; there is no settle window.
 */
import { createHash } from "node:crypto";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import type { AccountId } from "../../../core/domain/account.ts";
import { type Instant, plusMillis } from "../../../core/domain/instant.ts";
import { type LogPosition, nextPosition } from "../../../core/domain/log-cursor.ts";
import type { LogEntry, NewLogEntry } from "../../../core/domain/log-entry.ts";
import { isEverything } from "../../../core/domain/log-filter/tree.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { LogFindings, LogQuery, LogScope, LogStore } from "../../../core/ports/log-store.ts";
import type { CallOptions, Clock, Logger } from "../../../core/ports/system.ts";
import { errAsync, okAsync, ResultAsync } from "../../../core/result.ts";
import { LogFile } from "./file.ts";
import { Searches } from "./searches.ts";

const FLUSH_MS = 200;
/** One write blocks the loop for a few milliseconds at most. */
const BATCH = 1000;
/** Writers are held back while this many entries wait. */
const FULL = 20_000;
const RETAIN_MS = 10 * 60_000;
/** A file that cannot be opened is not tried again for every line. */
const REOPEN_MS = 1000;

export interface LogConfig {
  readonly folder: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly retentionDays: number;
  /** Bytes an account. */
  readonly maxBytes: number;
}

interface AccountLog {
  readonly file: LogFile;
  /** The place of the last entry of each service. */
  readonly last: Map<string, LogPosition>;
  waiting: LogEntry[];
}

const ENDING = ".sqlite";

/** Raw account ids stay out of file names. */
const fileName = (owner: AccountId): string =>
  `${createHash("sha256").update(owner).digest("hex").slice(0, 32)}${ENDING}`;

export class LocalLogs implements LogStore {
  readonly #config: LogConfig;
  readonly #accounts = new Map<AccountId, AccountLog>();
  readonly #unopened = new Map<AccountId, { readonly until: Instant; readonly cause: unknown }>();
  readonly #searches = new Searches();
  readonly #retention: NodeJS.Timeout;
  #waiting = 0;
  #timer: NodeJS.Timeout | undefined;
  #room: Promise<void> | undefined;
  #makeRoom: (() => void) | undefined;

  constructor(config: LogConfig) {
    this.#config = config;
    this.#retention = setInterval(() => this.#retain(), RETAIN_MS).unref();
  }

  /**
   * Takes an entry. The promise, where there is one, resolves when there is room for more: a writer that waits for
   * it is slowed to what the disk takes, and nothing is lost.
   */
  push(entry: NewLogEntry): Promise<void> | undefined {
    this.#take(entry, this.#config.clock.now());
    if (this.#waiting < FULL) return undefined;
    this.#room ??= new Promise((resolve) => {
      this.#makeRoom = resolve;
    });
    return this.#room;
  }

  append(entries: readonly NewLogEntry[]): ReturnType<LogStore["append"]> {
    const now = this.#config.clock.now();
    const taken = entries.map((entry) => this.#take(entry, now));
    return taken.every(Boolean)
      ? okAsync(undefined)
      : errAsync(unavailable("The log cannot be written; try again.", 5));
  }

  newest(scope: LogScope, query: LogQuery, { signal }: CallOptions = {}): ReturnType<LogStore["newest"]> {
    return this.#read(scope, query, undefined, signal);
  }

  after(
    scope: LogScope,
    place: LogPosition,
    query: LogQuery,
    { signal }: CallOptions = {},
  ): ReturnType<LogStore["after"]> {
    return this.#read(scope, query, place, signal);
  }

  /** Writes everything that waits. */
  flush(): void {
    for (const account of this.#accounts.values()) this.#write(account, account.waiting.length);
  }

  async close(): Promise<void> {
    clearInterval(this.#retention);
    clearTimeout(this.#timer);
    this.flush();
    for (const { file } of this.#accounts.values()) file.close();
    this.#accounts.clear();
    await this.#searches.close();
  }

  #read(
    scope: LogScope,
    query: LogQuery,
    place: LogPosition | undefined,
    signal: AbortSignal | undefined,
  ): ResultAsync<LogFindings, Unavailable> {
    const read = async (): Promise<LogFindings> => {
      signal?.throwIfAborted();
      const path = join(this.#config.folder, fileName(scope.owner));
      if (!this.#accounts.has(scope.owner) && !existsSync(path)) return { entries: [], partial: false };
      const account = this.#account(scope.owner);
      this.#write(account, account.waiting.length);
      if (!isEverything(query.filter))
        return this.#searches.run({ path, scope, query, ...(place === undefined ? {} : { place }) }, signal);
      // One index seek: less than handing it to another thread.
      const { limit, until } = query;
      const entries =
        place === undefined ? account.file.newest(scope, limit, until) : account.file.after(scope, place, limit, until);
      const last = entries.at(-1);
      return { entries, partial: false, ...(last === undefined ? {} : { seen: last }) };
    };
    return ResultAsync.fromPromise(read(), (cause) => unavailable("The log does not answer; try again.", 5, cause));
  }

  /** Gives an entry its place; false where the account's file cannot be used, and the entry is lost. */
  #take(entry: NewLogEntry, now: Instant): boolean {
    try {
      const account = this.#account(entry.owner);
      const last = account.last.get(entry.service) ?? account.file.newest(entry, 1)[0];
      const place = nextPosition(last, now);
      account.last.set(entry.service, place);
      account.waiting.push({ ...entry, ...place });
    } catch {
      // Whoever has something to log goes on; what went wrong was said where the file was opened.
      return false;
    }
    this.#waiting++;
    this.#timer ??= setTimeout(() => this.#flushSome(), FLUSH_MS);
    return true;
  }

  #account(owner: AccountId): AccountLog {
    const known = this.#accounts.get(owner);
    if (known !== undefined) return known;
    const { folder, clock, logger } = this.#config;
    const failed = this.#unopened.get(owner);
    if (failed !== undefined && failed.until > clock.now()) throw failed.cause;
    try {
      const made = { file: new LogFile(join(folder, fileName(owner))), last: new Map(), waiting: [] };
      this.#accounts.set(owner, made);
      this.#unopened.delete(owner);
      return made;
    } catch (cause) {
      this.#unopened.set(owner, { until: plusMillis(clock.now(), REOPEN_MS), cause });
      logger.error("log entries are being lost: an account's log cannot be opened", { folder, cause });
      throw cause;
    }
  }

  /** Writes a batch of each account and lets the loop turn before the next. */
  #flushSome(): void {
    for (const account of this.#accounts.values()) this.#write(account, BATCH);
    this.#timer = undefined;
    if (this.#waiting > 0) this.#timer = setTimeout(() => this.#flushSome(), 0);
    if (this.#waiting >= FULL / 2) return;
    this.#makeRoom?.();
    this.#room = undefined;
    this.#makeRoom = undefined;
  }

  #write(account: AccountLog, most: number): void {
    if (account.waiting.length === 0) return;
    const batch = account.waiting.slice(0, most);
    try {
      account.file.write(batch);
    } catch (cause) {
      // A full disk must not stop the services; what could not be written is dropped, and that is said.
      this.#config.logger.error("log entries were lost: the log could not be written", {
        entries: batch.length,
        cause,
      });
    }
    account.waiting = account.waiting.slice(batch.length);
    this.#waiting -= batch.length;
  }

  #retain(): void {
    const { folder, clock, retentionDays, maxBytes, logger } = this.#config;
    const before = plusMillis(clock.now(), -retentionDays * 86_400_000);
    const open = new Map([...this.#accounts].map(([owner, { file }]) => [fileName(owner), file]));
    try {
      // Also of accounts that have been quiet since the start.
      for (const name of existsSync(folder) ? readdirSync(folder) : []) {
        if (!name.endsWith(ENDING)) continue;
        const file = open.get(name) ?? new LogFile(join(folder, name));
        file.retain(before, maxBytes);
        if (!open.has(name)) file.close();
      }
    } catch (cause) {
      logger.warn("old log entries could not be removed", { folder, cause });
    }
  }
}
