/** `LogStore` on Cloud Logging. */

import type { LogPosition } from "../../../core/domain/logs/cursor.ts";
import { isWritable, type NewLogEntry } from "../../../core/domain/logs/entry.ts";
import { matcherOf } from "../../../core/domain/logs/filter/match.ts";
import { printLogFilter } from "../../../core/domain/logs/filter/print.ts";
import type { LogFilter } from "../../../core/domain/logs/filter/tree.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { LogFindings, LogQuery, LogScope } from "../../../core/ports/log-store.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result, ResultAsync } from "../../../core/result.ts";
import { type CallState, isCallState, type ProviderCall } from "../../shared/calls/provider-call.ts";
import { firstEntries } from "../../shared/logs/first-entries.ts";
import type { LogToRead, ReadTogether } from "../../shared/logs/followers.ts";
import { compileRe2 } from "../../shared/logs/re2.ts";
import { divideQuota, type QuotaShares } from "../../shared/logs/read-quota.ts";
import { RisingClock } from "../../shared/logs/rising-clock.ts";
import { type List, type Scan, scanAfter, scanNewest } from "../../shared/logs/scan.ts";
import { type CloudLogs, LogSearches, type SearchOptions, Stopped } from "../../shared/logs/searches.ts";
import { type GcpRuntimeDeps, googleCalls } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { GcpConfig } from "../config.ts";
import type { GcpLocation } from "../location.ts";
import { all, type Bound } from "./bound.ts";
import { logEntryOf, type ProtoEntry, protoEntryOf } from "./entry.ts";
import { pushdownOf } from "./pushdown.ts";
import { at, logsOf, ownerIs, scopeFinder, serviceIs } from "./scope.ts";
import { FILTER_CHARS, sharedCondition, sharedFilter } from "./together.ts";

/** Maximum page size of the listing (logging.proto, `page_size`). */
const PAGE_SIZE = 1000;
/**
 * Maximum characters per request. A request may have 10 MB (https://cloud.google.com/logging/quotas); most of an entry
 * is its payload.
 */
const WRITE_CHARS = 2 * 1024 * 1024;
const WRITE_ENTRIES = 1000;
/** Timeout of one call, in milliseconds. */
const CALL_TIMEOUT_MS = 20_000;
/**
 * BigQuery truncates timestamps to microseconds. The id starts with the remaining nanoseconds, so that ids sort in time
 * order.
 */
const NANO_DIGITS = 3;
const RANDOM_DIGITS = 7;

/** The client package has no types for its low-level clients; these are the calls that the adapter uses. */
interface LoggingCalls {
  listLogEntries(
    request: object,
    options: object,
  ): Promise<[readonly ProtoEntry[], unknown, { readonly nextPageToken?: string | null } | undefined]>;
  writeLogEntries(request: object, options: object): Promise<unknown>;
}

/** Of 60 reads a minute: 10 for deploys, 30 for followers, and 20 for searches. */
const SHARES: QuotaShares = { parts: 6, deploys: 1, followers: 3, isPerSecond: false };

const call = { retry: null, timeout: CALL_TIMEOUT_MS } as const;

/**
 * Entries of the same nanosecond are ordered by insertId (google/logging/v2/logging.proto, `order_by`). Their order in
 * a descending listing is undocumented.
 */
const GRAIN = { asc: 0n, desc: 1n } as const;

const charsOf = ({ text, json, http }: NewLogEntry): number =>
  (text?.length ?? 0) + JSON.stringify([json, http]).length;

/** Splits entries into batches that fit one request. */
const batches = (entries: readonly NewLogEntry[]): readonly (readonly NewLogEntry[])[] => {
  const result: NewLogEntry[][] = [];
  let chars = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    chars += charsOf(entry);
    const last = result.at(-1);
    if (last !== undefined && chars <= WRITE_CHARS && last.length < WRITE_ENTRIES) last.push(entry);
    else {
      result.push([entry]);
      chars = charsOf(entry);
    }
  }
  return result;
};

const rejected = unavailable("Cloud Logging rejected the search.", 60);

const reasonOf = (error: CallState | Unavailable): Unavailable | "invalid" => {
  if (!isCallState(error)) return error;
  if (error.code === "invalid") return "invalid";
  return unavailable("Cloud Logging does not find the project's logs.", 60, error.error);
};

interface ListedPage {
  readonly entries: readonly ProtoEntry[];
  readonly next: string | undefined;
}

class GcpLogs implements CloudLogs {
  readonly #location: GcpLocation;
  readonly #clients: ClientSource;
  readonly #runtime: GcpRuntimeDeps;
  readonly #call: ProviderCall;
  readonly #searches: LogSearches;
  readonly #rising: RisingClock;

  constructor(config: GcpConfig, clients: ClientSource, runtime: GcpRuntimeDeps) {
    this.#location = config;
    this.#clients = clients;
    this.#runtime = runtime;
    this.#call = googleCalls(runtime);
    this.#rising = new RisingClock(runtime.clock);
    this.#searches = new LogSearches(
      runtime.clock,
      divideQuota(runtime.clock, config.logReadsPerMinute, SHARES),
      (scope, query, position, options) => this.#read(scope, query, position, options),
      (logs, until, nextTurn) => this.#readTogether(logs, until, nextTurn),
    );
  }

  /**
   * Cloud Logging rejects an entry over 256 KB (https://cloud.google.com/logging/quotas). The platform logs the loss
   * and writes the other entries.
   */
  append(entries: readonly NewLogEntry[], { signal }: CallOptions = {}): ResultAsync<void, Unavailable> {
    const written = async (): Promise<Result<void, Unavailable>> => {
      for (const batch of batches(entries.filter(isWritable))) {
        const request = { entries: batch.map((entry) => this.#positioned(entry)), partialSuccess: true };
        const client = await this.#client();
        const needs = { what: "logging.entries.write", signal };
        const wrote = await this.#call(needs, () => client.writeLogEntries(request, call));
        if (wrote.isOk()) continue;
        if (!isCallState(wrote.error)) return err(wrote.error);
        const { error: cause } = wrote.error;
        this.#runtime.logger.error("Cloud Logging rejected log entries; they are lost", { cause });
      }
      for (const entry of entries) this.#searches.appended(entry);
      return ok(undefined);
    };
    return new ResultAsync(written());
  }

  newest(scope: LogScope, query: LogQuery, options?: CallOptions): ResultAsync<LogFindings, Unavailable> {
    return this.#searches.search(scope, query, undefined, options);
  }

  after(
    scope: LogScope,
    position: LogPosition,
    query: LogQuery,
    options?: CallOptions,
  ): ResultAsync<LogFindings, Unavailable> {
    return this.#searches.search(scope, query, position, options);
  }

  readonly deployReads: CloudLogs["deployReads"] = {
    newest: (scope, query, options) => this.#searches.searchForDeploy(scope, query, options),
  };

  /** Sets time and id once, so that a retry does not duplicate the entry. */
  #positioned(entry: NewLogEntry): ProtoEntry {
    const { ids } = this.#runtime;
    const instant = this.#rising.next();
    const insertId = String(instant % 1000n).padStart(NANO_DIGITS, "0") + ids.id().slice(0, RANDOM_DIGITS);
    return protoEntryOf(this.#location, entry, { instant, insertId });
  }

  async #client(): Promise<LoggingCalls> {
    return (await this.#clients("logging")) as LoggingCalls;
  }

  async #list(
    request: object,
    timeoutMs: number,
    signal?: AbortSignal,
  ): Promise<Result<ListedPage, Unavailable | "invalid">> {
    const resourceNames = [`projects/${this.#location.project}`];
    const client = await this.#client();
    const listed = await this.#call({ what: "logging.entries.list", timeoutMs, signal }, () =>
      client.listLogEntries({ resourceNames, ...request }, { ...call, autoPaginate: false }),
    );
    return listed
      .map(([entries, , response]) => ({ entries, next: response?.nextPageToken || undefined }))
      .mapErr(reasonOf);
  }

  /** Does not retry: the followers' next read does. */
  async #readTogether<L extends LogToRead>(
    logs: readonly L[],
    until: Instant,
    nextTurn: () => Promise<void>,
  ): Promise<Result<ReadTogether<L>, Unavailable>> {
    const { filter, read } = sharedFilter(this.#location, logs, until);
    const [first] = read;
    if (filter === undefined || first === undefined) return ok({ read, unjoinable: [], entries: [], size: 0 });
    const scopeOf = scopeFinder(read.map(({ scope }) => scope));
    const list = async (pageToken: string | undefined) => {
      const request = { filter, orderBy: "timestamp asc", pageSize: PAGE_SIZE, ...(pageToken && { pageToken }) };
      return (await this.#list(request, 0)).map(({ entries: listed, next }) => {
        const entries = listed.flatMap((entry) => {
          const scope = scopeOf(entry);
          return (scope && logEntryOf(scope, entry)) ?? [];
        });
        return { entries, size: listed.length, end: entries.at(-1), next };
      });
    };
    const found = await firstEntries(list, first.through, nextTurn);
    if (found.isOk()) return ok({ read, unjoinable: [], ...found.value });
    if (found.error !== "invalid") return err(found.error);
    const unjoinable = read.filter((log) => typeof sharedCondition(this.#location, log) !== "boolean");
    if (unjoinable.length === 0) return err(rejected);
    this.#runtime.logger.warn("Cloud Logging rejected a filter of a follower; it is evaluated separately");
    return ok({ read: [], unjoinable, entries: [], size: 0 });
  }

  async #read(
    scope: LogScope,
    query: LogQuery,
    position: LogPosition | undefined,
    options: SearchOptions,
  ): Promise<Result<LogFindings, Unavailable>> {
    const { project } = this.#location;
    const pushed = pushdownOf(query.filter, { project, scope, compile: compileRe2 });
    for (const bound of pushed === true ? [true] : [pushed, true])
      try {
        const scan = this.#scanOf(scope, query, bound, options);
        return ok(await (position === undefined ? scanNewest(scan) : scanAfter(scan, position)));
      } catch (error) {
        if (!(error instanceof Stopped)) throw error;
        if (error.reason !== "invalid") return err(error.reason);
        this.#runtime.logger.warn("Cloud Logging rejected a filter; the platform evaluates all of it", {
          filter: printLogFilter(query.filter),
        });
      }
    return err(rejected);
  }

  #scanOf(scope: LogScope, query: LogQuery, pushed: Bound, options: SearchOptions): Scan {
    const budget = this.#searches.budget(query, options);
    const list: List = async ({ from, to, narrowed }, order, pageSize, token) => {
      const timeoutMs = await budget.take();
      const base = [...logsOf(this.#location), ownerIs(scope.owner), serviceIs(scope)];
      const bounds = [...base, ...at(">=", from), ...at("<=", to), narrowed ? pushed : true];
      const filter = printLogFilter(all(bounds) as LogFilter);
      if (filter.length > FILTER_CHARS) throw new Stopped("invalid");
      const request = { filter, orderBy: `timestamp ${order}`, pageSize, ...(token && { pageToken: token }) };
      const listed = await this.#list(request, timeoutMs, options.signal);
      if (listed.isErr()) throw new Stopped(listed.error);
      const { entries, next } = listed.value;
      return { entries: entries.flatMap((entry) => logEntryOf(scope, entry) ?? []), ...(next && { next }) };
    };
    return {
      list,
      pushed: pushed === true ? "everything" : pushed === false ? "nothing" : "some",
      matches: matcherOf(query.filter, compileRe2),
      limit: query.limit,
      until: query.until,
      needsSeen: options.forDeploy !== true,
      isOver: budget.isOver,
      grain: GRAIN,
      maxPageEntries: PAGE_SIZE,
    };
  }
}

export const createGcpLogs = (config: GcpConfig, clients: ClientSource, runtime: GcpRuntimeDeps): CloudLogs =>
  new GcpLogs(config, clients, runtime);
