/**
 * `LogStore` on CloudWatch Logs: one log group, and a stream prefix per deployment.
 *
 * A search reads pages of FilterLogEvents from the oldest or the newest end. Events have millisecond timestamps; the
 * platform's entries also contain the nanosecond. AWS orders the events of a millisecond by their put request, which no
 * response shows. So the store reads each millisecond completely and sorts it.
 */

import type { LogPosition } from "../../../core/domain/logs/cursor.ts";
import { isWritable, type NewLogEntry } from "../../../core/domain/logs/entry.ts";
import { matcherOf } from "../../../core/domain/logs/filter/match.ts";
import { type Instant, millisOf } from "../../../core/domain/wire/instant.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { LogFindings, LogQuery, LogScope, LogStore } from "../../../core/ports/log-store.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result, ResultAsync } from "../../../core/result.ts";
import { isCallState, type ProviderCall } from "../../shared/calls/provider-call.ts";
import { compileRe2 } from "../../shared/logs/re2.ts";
import { RisingClock } from "../../shared/logs/rising-clock.ts";
import { type List, type Listing, type Scan, scanAfter, scanNewest } from "../../shared/logs/scan.ts";
import { LogSearches, Stopped } from "../../shared/logs/searches.ts";
import { type AwsRuntimeDeps, awsCalls } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { AwsConfig } from "../config.ts";
import { batchesOf, type InputEvent } from "./batches.ts";
import { RETENTION_DAYS } from "./capabilities.ts";
import { logEntryOf, messageFor, PLATFORM_STREAM } from "./entry.ts";
import { isEverything, isNothing, pushdownOf } from "./pushdown.ts";
import { streamPrefixOf } from "./streams.ts";

/** "Up to 10,000 log events" in one page (FilterLogEventsRequest, `limit`). */
const PAGE_SIZE = 10_000;
const GRAIN = { asc: 1_000_000n, desc: 1_000_000n } as const;
const DAY_MS = 86_400_000;
/** Earliest start of a search from the newest end (FilterLogEventsRequest, `startFromHead`). */
const FIRST_BACKWARDS = Date.UTC(2024, 0, 1);
const RANDOM_DIGITS = 7;

const load = () => import("@aws-sdk/client-cloudwatch-logs");

/** The streams to read: all of a deployment, or only the platform's. */
type Streams = { readonly logStreamNamePrefix: string } | { readonly logStreamNames: string[] };

/** Groups entries by deployment and keeps their order. */
const byScope = (entries: readonly NewLogEntry[]): Map<string, [NewLogEntry, ...NewLogEntry[]]> => {
  const scopes = new Map<string, [NewLogEntry, ...NewLogEntry[]]>();
  for (const entry of entries) {
    const prefix = streamPrefixOf(entry.owner, entry.service);
    const known = scopes.get(prefix);
    if (known === undefined) scopes.set(prefix, [entry]);
    else known.push(entry);
  }
  return scopes;
};

class AwsLogs implements LogStore {
  readonly #group: string;
  readonly #clients: ClientSource;
  readonly #runtime: AwsRuntimeDeps;
  readonly #call: ProviderCall;
  readonly #searches: LogSearches;
  readonly #rising: RisingClock;

  constructor(config: AwsConfig, clients: ClientSource, runtime: AwsRuntimeDeps) {
    this.#group = config.shared.logGroup;
    this.#clients = clients;
    this.#runtime = runtime;
    this.#call = awsCalls(runtime);
    this.#rising = new RisingClock(runtime.clock);
    this.#searches = new LogSearches(runtime.clock, config.logReadsPerMinute, (scope, query, position, signal) =>
      this.#read(scope, query, position, signal),
    );
  }

  /** Drops entries that CloudWatch Logs rejects (over 1 MB) and logs the loss. Writes the others. */
  append(entries: readonly NewLogEntry[], { signal }: CallOptions = {}): ResultAsync<void, Unavailable> {
    const written = async (): Promise<Result<void, Unavailable>> => {
      for (const [prefix, some] of byScope(entries.filter(isWritable))) {
        const { batches, tooLarge } = batchesOf(some.map((entry) => this.#positioned(entry)));
        if (tooLarge.length > 0) this.#logLoss({ cause: "larger than 1 MB", count: tooLarge.length });
        for (const batch of batches) {
          const put = await this.#put(prefix + PLATFORM_STREAM, batch, signal);
          if (put.isErr()) return err(put.error);
        }
        this.#searches.forget(some[0]);
      }
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

  /** Sets time and id once, so that a retry does not duplicate the entry. */
  #positioned(entry: NewLogEntry): InputEvent {
    const { ids } = this.#runtime;
    const at = this.#rising.next();
    return { timestamp: millisOf(at), message: messageFor(entry, at, ids.id().slice(0, RANDOM_DIGITS)) };
  }

  #logLoss(fields: Readonly<Record<string, unknown>>): void {
    this.#runtime.logger.error("CloudWatch Logs rejected log entries; they are lost", fields);
  }

  /** Creates the deployment's stream at its first write. */
  async #put(
    stream: string,
    batch: readonly InputEvent[],
    signal: AbortSignal | undefined,
  ): Promise<Result<void, Unavailable>> {
    const put = await this.#send(stream, batch, signal);
    if (put.isOk()) return ok(undefined);
    if (!isCallState(put.error)) return err(put.error);
    if (put.error.code !== "not_found") {
      this.#logLoss({ cause: put.error.error });
      return ok(undefined);
    }
    const created = await this.#createStream(stream, signal);
    if (created.isErr()) return created;
    const again = await this.#send(stream, batch, signal);
    if (again.isOk()) return ok(undefined);
    return err(isCallState(again.error) ? this.#noGroup(again.error.error) : again.error);
  }

  async #send(stream: string, batch: readonly InputEvent[], signal: AbortSignal | undefined) {
    const client = await this.#clients("logs");
    const { PutLogEventsCommand } = await load();
    const input = { logGroupName: this.#group, logStreamName: stream, logEvents: [...batch] };
    const sent = await this.#call({ what: "logs:PutLogEvents", signal }, () =>
      client.send(new PutLogEventsCommand(input)),
    );
    const rejected = sent.isOk() ? sent.value.rejectedLogEventsInfo : undefined;
    if (rejected !== undefined) this.#logLoss({ cause: "this server's clock is off by hours", ...rejected });
    return sent;
  }

  async #createStream(stream: string, signal: AbortSignal | undefined): Promise<Result<void, Unavailable>> {
    const client = await this.#clients("logs");
    const { CreateLogStreamCommand } = await load();
    const input = { logGroupName: this.#group, logStreamName: stream };
    const created = await this.#call({ what: "logs:CreateLogStream", signal }, () =>
      client.send(new CreateLogStreamCommand(input)),
    );
    if (created.isOk()) return ok(undefined);
    if (!isCallState(created.error)) return err(created.error);
    return created.error.code === "exists" ? ok(undefined) : err(this.#noGroup(created.error.error));
  }

  #noGroup(error: unknown): Unavailable {
    this.#runtime.logger.error("CloudWatch Logs does not find the log group; check logGroup", { error });
    return unavailable("CloudWatch Logs does not find the platform's logs.", 60, error);
  }

  async #read(
    scope: LogScope,
    query: LogQuery,
    position: LogPosition | undefined,
    signal: AbortSignal | undefined,
  ): Promise<Result<LogFindings, Unavailable>> {
    try {
      const scan = this.#scanOf(scope, query, signal);
      return ok(await (position === undefined ? scanNewest(scan) : scanAfter(scan, position)));
    } catch (error) {
      if (!(error instanceof Stopped)) throw error;
      if (error.reason !== "invalid") return err(error.reason);
      return err(unavailable("CloudWatch Logs rejected the search.", 60));
    }
  }

  #scanOf(scope: LogScope, query: LogQuery, signal: AbortSignal | undefined): Scan {
    const budget = this.#searches.budget(query, signal);
    const pushed = pushdownOf(query.filter, scope, compileRe2);
    const prefix = streamPrefixOf(scope.owner, scope.service);
    const everywhere: Streams = { logStreamNamePrefix: prefix };
    const narrow: Streams = pushed.platformOnly ? { logStreamNames: [prefix + PLATFORM_STREAM] } : everywhere;
    const list: List = async (range, order, size, token) => {
      const timeoutMs = await budget.take();
      const froms = [range.from, range.narrowed ? pushed.from : undefined].filter((one) => one !== undefined);
      const tos = [range.to, range.narrowed ? pushed.to : undefined].filter((one) => one !== undefined);
      const input = {
        ...(range.narrowed ? narrow : everywhere),
        startTime: this.#startOf(froms, order),
        ...(tos.length === 0 ? {} : { endTime: Math.min(...tos.map(millisOf)) }),
        ...(order === "desc" ? { startFromHead: false } : {}),
        limit: size,
        ...(token === undefined ? {} : { nextToken: token }),
      };
      return input.endTime !== undefined && input.endTime < input.startTime
        ? { entries: [] }
        : this.#list(scope, input, timeoutMs, signal);
    };
    return {
      list,
      pushed: isNothing(pushed) ? "nothing" : isEverything(pushed) ? "everything" : "some",
      matches: matcherOf(query.filter, compileRe2),
      limit: query.limit,
      until: query.until,
      isOver: budget.isOver,
      grain: GRAIN,
      maxPageEntries: PAGE_SIZE,
    };
  }

  /**
   * "Set startTime explicitly to reduce the chances of empty pages": no entry is older than the retention
   * (FilterLogEventsRequest, `startTime`).
   */
  #startOf(froms: readonly Instant[], order: "asc" | "desc"): number {
    const oldest = millisOf(this.#runtime.clock.now()) - RETENTION_DAYS * DAY_MS;
    return Math.max(oldest, order === "desc" ? FIRST_BACKWARDS : 0, ...froms.map(millisOf));
  }

  async #list(
    scope: LogScope,
    input: Streams & { readonly startTime: number; readonly limit: number },
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Listing> {
    const client = await this.#clients("logs");
    const { FilterLogEventsCommand } = await load();
    const listed = await this.#call({ what: "logs:FilterLogEvents", timeoutMs, signal }, () =>
      client.send(new FilterLogEventsCommand({ logGroupName: this.#group, ...input })),
    );
    if (listed.isErr()) {
      if (!isCallState(listed.error)) throw new Stopped(listed.error);
      // The platform's stream does not exist before its first write.
      if (listed.error.code === "not_found" && "logStreamNames" in input) return { entries: [] };
      throw new Stopped(listed.error.code === "invalid" ? "invalid" : this.#noGroup(listed.error.error));
    }
    const { events = [], nextToken } = listed.value;
    return {
      entries: events.flatMap((event) => logEntryOf(scope, event) ?? []),
      ...(nextToken === undefined ? {} : { next: nextToken }),
    };
  }
}

export const createAwsLogs = (config: AwsConfig, clients: ClientSource, runtime: AwsRuntimeDeps): LogStore =>
  new AwsLogs(config, clients, runtime);
