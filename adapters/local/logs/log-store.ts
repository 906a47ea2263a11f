/**
 * The local LogStore. The server reads the accounts' log files; the engine writes them. Before each read, the engine
 * writes the waiting entries of the account, so every entry is visible immediately, without a settle window.
 */
import { once } from "node:events";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { LogPosition } from "../../../core/domain/logs/cursor.ts";
import { isEverything } from "../../../core/domain/logs/filter/tree.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { LogCounts, LogFindings, LogQuery, LogScope, LogStore } from "../../../core/ports/log-store.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { ResultAsync } from "../../../core/result.ts";
import { fileIdOf } from "../data-folder/file-id.ts";
import { LogPages } from "./log-pages.ts";
import { logPath } from "./log-path.ts";
import type { EngineLogs } from "./log-writer.ts";
import { type LogSearch, unlessDamaged } from "./scan.ts";
import { Searches } from "./searches.ts";

/** Maximum number of open files. Opening one takes about a third of a millisecond. */
const MAX_OPEN = 100;

export interface LocalLogsConfig {
  readonly folder: string;
  readonly writer: Pick<EngineLogs, "append" | "writeAll" | "nextEntry" | "repair">;
}

interface OpenFile {
  readonly id: string;
  readonly pages: LogPages;
}

export class LocalLogs implements LogStore {
  readonly writer: LocalLogsConfig["writer"];
  readonly #folder: string;
  /** Open files by path, least recently used first. */
  readonly #open = new Map<string, OpenFile>();
  readonly #searches = new Searches();
  #closed = false;

  constructor({ folder, writer }: LocalLogsConfig) {
    this.#folder = folder;
    this.writer = writer;
  }

  append(entries: Parameters<LogStore["append"]>[0]): ReturnType<LogStore["append"]> {
    return this.writer.append(entries);
  }

  newest(scope: LogScope, query: LogQuery, { signal }: CallOptions = {}): ReturnType<LogStore["newest"]> {
    return this.#read(scope, query, undefined, signal);
  }

  after(...[scope, position, query, options]: Parameters<LogStore["after"]>): ReturnType<LogStore["after"]> {
    return this.#read(scope, query, position, options?.signal);
  }

  before(
    ...[scope, position, query, options]: Parameters<NonNullable<LogStore["before"]>>
  ): ReturnType<NonNullable<LogStore["before"]>> {
    return this.#read(scope, query, position, options?.signal, true);
  }

  count(
    ...[scope, query, options]: Parameters<NonNullable<LogStore["count"]>>
  ): ReturnType<NonNullable<LogStore["count"]>> {
    const nothing = { counts: query.edges.slice(1).map(() => ({})) };
    const wanted = { path: this.pathOf(scope.owner), scope, query };
    return this.#readFile<LogCounts>(scope.owner, nothing, options?.signal, () =>
      this.#searches.count(wanted, options?.signal),
    );
  }

  /** If the call fails, waits for the signal, because the engine has ended or is too old for the call. */
  async nextEntry(...[scope, { signal }]: Parameters<NonNullable<LogStore["nextEntry"]>>): Promise<void> {
    try {
      await this.writer.nextEntry(scope, signal);
    } catch {
      if (!signal.aborted) await once(signal, "abort");
    }
  }

  /** Returns the path of the account's log file, which exists after the account's first entry. */
  pathOf(owner: AccountId): string {
    return logPath(this.#folder, owner);
  }

  /** Resolves when the entries of the account that were logged before the call are in the file or lost. */
  writeAll(owner: AccountId): Promise<void> {
    return this.writer.writeAll(owner);
  }

  /** Checks every page of the account's file. If a page cannot be read, the engine repairs the file. */
  async inspect(owner: AccountId): Promise<void> {
    const path = this.pathOf(owner);
    const id = fileIdOf(path);
    if (this.#closed || id === undefined || (await this.#searches.isWhole(path)) || this.#closed) return;
    await this.writer.repair(owner, id);
  }

  async close(): Promise<void> {
    this.#closed = true;
    for (const path of [...this.#open.keys()]) this.#forget(path);
    await this.#searches.close();
  }

  #read(
    scope: LogScope,
    query: LogQuery,
    position: LogPosition | undefined,
    signal: AbortSignal | undefined,
    backwards = false,
  ): ReturnType<LogStore["newest"]> {
    const search = {
      path: this.pathOf(scope.owner),
      scope,
      query,
      ...(position === undefined ? {} : { position, backwards }),
    };
    return this.#readFile<LogFindings>(scope.owner, { entries: [], partial: false }, signal, (id) =>
      this.#find(search, id, signal),
    );
  }

  /** Reads the account's file, and repairs it if it is damaged. Returns `nothing` if the file does not exist. */
  #readFile<T>(
    owner: AccountId,
    nothing: T,
    signal: AbortSignal | undefined,
    find: (id: string) => Promise<T | "damaged">,
  ): ResultAsync<T, Unavailable> {
    const path = this.pathOf(owner);
    const read = async (): Promise<T> => {
      signal?.throwIfAborted();
      await this.writeAll(owner);
      // Get the id before the read. If another file replaces the damaged file in the meantime, `repair` changes
      // nothing.
      for (let id = fileIdOf(path), repaired = 0; id !== undefined; id = fileIdOf(path), repaired++) {
        signal?.throwIfAborted();
        const found = await find(id);
        if (found !== "damaged") return found;
        if (repaired === 2) throw new Error("the new log file is damaged, too");
        await this.writer.repair(owner, id);
      }
      return nothing;
    };
    return ResultAsync.fromPromise(read(), (cause) => unavailable("The log cannot be read. Try again.", 5, cause));
  }

  /**
   * Reads a page without a filter in this thread, because one index seek is faster than a message to another thread.
   */
  async #find(search: LogSearch, id: string, signal: AbortSignal | undefined): Promise<LogFindings | "damaged"> {
    const { path, scope, query, position, backwards } = search;
    if (!isEverything(query.filter)) return this.#searches.run(search, signal);
    const { limit, until } = query;
    return unlessDamaged(() => {
      const pages = this.#pages(path, id);
      if (position === undefined) return pages.newest(scope, limit, until);
      return backwards ? pages.before(scope, position, limit, until) : pages.after(scope, position, limit, until);
    });
  }

  #pages(path: string, id: string): LogPages {
    if (this.#closed) throw new Error("the log store is closed");
    const known = this.#open.get(path);
    if (known?.id !== id) this.#forget(path);
    const file = known?.id === id ? known : { id, pages: new LogPages(path) };
    this.#open.delete(path);
    this.#open.set(path, file);
    const [oldest] = this.#open.keys();
    if (this.#open.size > MAX_OPEN && oldest !== undefined) this.#forget(oldest);
    return file.pages;
  }

  #forget(path: string): void {
    this.#open.get(path)?.pages[Symbol.dispose]();
    this.#open.delete(path);
  }
}
