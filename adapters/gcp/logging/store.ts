/** `LogStore` on Cloud Logging. */
import { type Instant, millisOf } from "../../../core/domain/instant.ts";
import type { LogPosition } from "../../../core/domain/log-cursor.ts";
import type { NewLogEntry } from "../../../core/domain/log-entry.ts";
import { matcherOf } from "../../../core/domain/log-filter/match.ts";
import { printLogFilter } from "../../../core/domain/log-filter/print.ts";
import { RESOURCE_TYPE } from "../../../core/domain/log-filter/record.ts";
import type { FieldPath, LogFilter } from "../../../core/domain/log-filter/tree.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { LogFindings, LogQuery, LogScope, LogStore } from "../../../core/ports/log-store.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result, ResultAsync } from "../../../core/result.ts";
import { accountDigest } from "../../shared/account-digest.ts";
import { OWNER_LABEL } from "../../shared/labels.ts";
import { isCallState, type ProviderCall } from "../../shared/provider-call.ts";
import { compileRe2 } from "../../shared/re2.ts";
import { ReadLimiter } from "../../shared/read-limiter.ts";
import { SharedReads } from "../../shared/shared-reads.ts";
import type { ClientSource } from "../clients.ts";
import type { GcpConfig } from "../config.ts";
import { type GcpAmbient, googleCalls } from "../google.ts";
import { all, any, type Bound } from "./bound.ts";
import { logEntryOf, type ProtoEntry, protoEntryOf } from "./entry.ts";
import { fullLogName, logIds } from "./names.ts";
import { pushedOf } from "./push.ts";
import { type List, type Listing, type Scan, scanAfter, scanNewest } from "./scan.ts";

/** For how long one poll is also the next one's of the same question. */
const SHARED_MS = 1000;
/** A search waits for its turn no longer than this. */
const TURN_MS = 2000;
/** Characters of a filter (logging.proto, `filter`). */
const FILTER_CHARS = 20_000;
/** One request may have 10 MB (https://cloud.google.com/logging/quotas); most of an entry is its payload. */
const WRITE_LETTERS = 2 * 1024 * 1024;
const WRITE_ENTRIES = 1000;
/** Milliseconds of one call. */
const CALL_MS = 20_000;
/** BigQuery's timestamps end with the microsecond: an id begins with the nanoseconds behind it, and sorts by them there. */
const NANO_DIGITS = 3;
const RANDOM_DIGITS = 7;

/** The client package gives its low-level clients no types; this is what is used of it. */
interface LoggingCalls {
  listLogEntries(
    request: object,
    options: object,
  ): Promise<[readonly ProtoEntry[], unknown, { readonly nextPageToken?: string | null } | undefined]>;
  writeLogEntries(request: object, options: object): Promise<unknown>;
}

/** Ends a search from within; `invalid` where Cloud Logging does not take the filter. */
class Stopped extends Error {
  readonly reason: Unavailable | "invalid";
  constructor(reason: Unavailable | "invalid") {
    super("the search ended");
    this.reason = reason;
  }
}

const call = { retry: null, timeout: CALL_MS } as const;

const nobodyWaits = () => unavailable("The search was ended, for nobody waits for it.", 1);

/** Whoever goes is answered at once, and leaves a shared search to the others. */
const gone = (signal: AbortSignal): Promise<Result<never, Unavailable>> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve(err(nobodyWaits())), { once: true }));

const equals = (path: FieldPath, text: string): LogFilter => ({ kind: "compare", path, op: "=", literal: { text } });

/** Whose entries: joined to every search as a tree, so that no filter's text reaches outside. */
const baseOf = (project: string, { owner, service }: LogScope): readonly Bound[] => [
  equals(["resource", "type"], RESOURCE_TYPE),
  equals(["resource", "labels", "service_name"], service),
  equals(["labels", OWNER_LABEL], accountDigest(owner)),
  any(Object.keys(logIds).map((id) => equals(["logName"], fullLogName(project, id)))),
];

const lettersOf = ({ text, json, http }: NewLogEntry): number =>
  (text?.length ?? 0) + JSON.stringify([json, http]).length;

/** Entries in batches that one request takes. */
const batches = (entries: readonly NewLogEntry[]): readonly (readonly NewLogEntry[])[] => {
  const made: NewLogEntry[][] = [];
  let letters = Number.POSITIVE_INFINITY;
  for (const entry of entries) {
    letters += lettersOf(entry);
    const last = made.at(-1);
    if (last !== undefined && letters <= WRITE_LETTERS && last.length < WRITE_ENTRIES) last.push(entry);
    else {
      made.push([entry]);
      letters = lettersOf(entry);
    }
  }
  return made;
};

class GcpLogs implements LogStore {
  readonly #place: { readonly project: string; readonly region: string };
  readonly #clients: ClientSource;
  readonly #ambient: GcpAmbient;
  readonly #call: ProviderCall;
  readonly #limiter: ReadLimiter;
  readonly #shared: SharedReads<Result<LogFindings, Unavailable>>;
  #last = 0n;

  constructor(config: GcpConfig, clients: ClientSource, ambient: GcpAmbient) {
    const { clock } = ambient;
    this.#place = config;
    this.#clients = clients;
    this.#ambient = ambient;
    this.#call = googleCalls(ambient);
    this.#limiter = new ReadLimiter(clock, config.logReadsPerMinute);
    this.#shared = new SharedReads(clock, SHARED_MS);
  }

  /** What Cloud Logging does not take (an entry over 256 KB) is lost, and no other with it: that is said in the log. */
  append(entries: readonly NewLogEntry[], { signal }: CallOptions = {}): ResultAsync<void, Unavailable> {
    const written = async (): Promise<Result<void, Unavailable>> => {
      for (const batch of batches(entries)) {
        const request = { entries: batch.map((entry) => this.#placed(entry)), partialSuccess: true };
        const client = await this.#client();
        const needs = { what: "logging.entries.write", signal };
        const wrote = await this.#call(needs, () => client.writeLogEntries(request, call));
        if (wrote.isOk()) continue;
        if (!isCallState(wrote.error)) return err(wrote.error);
        this.#ambient.logger.error("log entries were lost: Cloud Logging does not take them", {
          cause: wrote.error.error,
        });
      }
      for (const { owner, service } of entries) this.#shared.forget(this.#keyOf({ owner, service }));
      return ok(undefined);
    };
    return new ResultAsync(written());
  }

  newest(scope: LogScope, query: LogQuery, options: CallOptions = {}): ResultAsync<LogFindings, Unavailable> {
    return this.#search(scope, query, undefined, options);
  }

  after(
    scope: LogScope,
    place: LogPosition,
    query: LogQuery,
    options: CallOptions = {},
  ): ResultAsync<LogFindings, Unavailable> {
    return this.#search(scope, query, place, options);
  }

  /** Later than the one before, so that each writer's entries keep their order; a repeat of the call writes none twice. */
  #placed(entry: NewLogEntry): ProtoEntry {
    const { clock, ids } = this.#ambient;
    const now = clock.now();
    this.#last = now > this.#last ? now : this.#last + 1n;
    const instant = this.#last as Instant;
    const insertId = String(instant % 1000n).padStart(NANO_DIGITS, "0") + ids.id().slice(0, RANDOM_DIGITS);
    return protoEntryOf(this.#place, entry, { instant, insertId });
  }

  async #client(): Promise<LoggingCalls> {
    return (await this.#clients("logging")) as LoggingCalls;
  }

  #keyOf({ owner, service }: LogScope): string {
    return `${accountDigest(owner)}\n${service}\n`;
  }

  #search(
    scope: LogScope,
    query: LogQuery,
    place: LogPosition | undefined,
    { signal }: CallOptions,
  ): ResultAsync<LogFindings, Unavailable> {
    if (signal?.aborted === true) return new ResultAsync(Promise.resolve(err(nobodyWaits())));
    // An answer up to some instant is good a moment later, too: it says how far it has seen.
    const heard = (read: Promise<Result<LogFindings, Unavailable>>) =>
      new ResultAsync(signal === undefined ? read : Promise.race([read, gone(signal)]));
    if (query.until === undefined) return heard(this.#read(scope, query, place, signal));
    const question = [place?.instant.toString(), place?.code, query.limit, printLogFilter(query.filter)];
    const key = this.#keyOf(scope) + JSON.stringify(question);
    const work = () => this.#read(scope, query, place, undefined);
    const read = this.#shared.read(key, query.until, work, (found) => found.isOk() && !found.value.partial);
    return heard(read);
  }

  async #read(
    scope: LogScope,
    query: LogQuery,
    place: LogPosition | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Result<LogFindings, Unavailable>> {
    const { project } = this.#place;
    const pushed = pushedOf(query.filter, { project, scope, compile: compileRe2 });
    for (const bound of pushed === true ? [true] : [pushed, true])
      try {
        const scan = this.#scanOf(scope, query, bound, signal);
        return ok(await (place === undefined ? scanNewest(scan) : scanAfter(scan, place)));
      } catch (error) {
        if (!(error instanceof Stopped)) throw error;
        if (error.reason !== "invalid") return err(error.reason);
        this.#ambient.logger.warn("Cloud Logging does not take a filter; everything is looked at here", {
          filter: printLogFilter(query.filter),
        });
      }
    return err(unavailable("Google Cloud does not take this platform's searches.", 60));
  }

  #scanOf(scope: LogScope, query: LogQuery, pushed: Bound, signal: AbortSignal | undefined): Scan {
    const { clock } = this.#ambient;
    const ends = millisOf(clock.now()) + query.patience;
    const left = () => Math.max(ends - millisOf(clock.now()), 0);
    const base = baseOf(this.#place.project, scope);
    const list: List = async (bounds, order, size, token) => {
      const wait = await this.#limiter.take(Math.max(left(), TURN_MS), signal);
      if (signal?.aborted === true) throw new Stopped(nobodyWaits());
      if (wait !== undefined)
        throw new Stopped(unavailable("The logs of this platform are read too often at this moment.", wait));
      const filter = printLogFilter(all([...base, ...bounds]) as LogFilter);
      if (filter.length > FILTER_CHARS) throw new Stopped("invalid");
      return this.#list(scope, filter, order, size, token, Math.max(left(), TURN_MS), signal);
    };
    const matches = matcherOf(query.filter, compileRe2);
    const isOver = () => left() === 0 || this.#limiter.wait > Math.max(left(), TURN_MS);
    return { list, pushed, matches, limit: query.limit, until: query.until, isOver };
  }

  async #list(
    scope: LogScope,
    filter: string,
    order: "asc" | "desc",
    pageSize: number,
    pageToken: string | undefined,
    patience: number,
    signal: AbortSignal | undefined,
  ): Promise<Listing> {
    const client = await this.#client();
    const request = {
      resourceNames: [`projects/${this.#place.project}`],
      filter,
      orderBy: `timestamp ${order}`,
      pageSize,
      ...(pageToken === undefined ? {} : { pageToken }),
    };
    const listed = await this.#call({ what: "logging.entries.list", patience, signal }, () =>
      client.listLogEntries(request, { ...call, autoPaginate: false }),
    );
    if (listed.isErr()) {
      if (!isCallState(listed.error)) throw new Stopped(listed.error);
      if (listed.error.code === "invalid") throw new Stopped("invalid");
      throw new Stopped(unavailable("Google Cloud does not find this project's logs.", 60, listed.error.error));
    }
    const [entries, , answer] = listed.value;
    const next = answer?.nextPageToken ?? "";
    return {
      entries: entries.flatMap((entry) => logEntryOf(scope, entry) ?? []),
      ...(next === "" ? {} : { next }),
    };
  }
}

export const createGcpLogs = (config: GcpConfig, clients: ClientSource, ambient: GcpAmbient): LogStore =>
  new GcpLogs(config, clients, ambient);
