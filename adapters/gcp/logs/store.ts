/** `LogStore` on Cloud Logging. */

import type { NewLogEntry } from "../../../core/domain/logs/entry.ts";
import { printLogFilter } from "../../../core/domain/logs/filter/print.ts";
import type { LogFilter } from "../../../core/domain/logs/filter/tree.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { LogScope } from "../../../core/ports/log-store.ts";
import { err, ok, type Result, ResultAsync } from "../../../core/result.ts";
import { type CallState, isCallState } from "../../cloud/calls/provider-call.ts";
import { type BatchLimits, batchesOf } from "../../cloud/logs/batches.ts";
import type { EntryMark, Listed, LogDriver, LogSearch } from "../../cloud/logs/driver.ts";
import type { QuotaShares } from "../../cloud/logs/read-quota.ts";
import type { CloudLogs } from "../../cloud/logs/searches.ts";
import { createCloudLogs } from "../../cloud/logs/store.ts";
import { compileRe2 } from "../../shared/logs/re2.ts";
import { type GcpRuntimeDeps, googleCalls } from "../call-policy.ts";
import type { ClientSource } from "../clients.ts";
import type { GcpConfig } from "../config.ts";
import { all, type Bound } from "./bound.ts";
import { logEntryOf, type ProtoEntry, protoEntryOf } from "./entry.ts";
import { pushdownOf } from "./pushdown.ts";
import { at, logsOf, ownerIs, scopeFinder, serviceIs } from "./scope.ts";
import { FILTER_CHARS, sharedCondition, sharedFilter } from "./shared-filter.ts";

/** Maximum page size of the listing (logging.proto, `page_size`). */
const PAGE_SIZE = 1000;
/**
 * Maximum characters of payload per request. Cloud Logging's limit is 10 MB per request
 * (https://cloud.google.com/logging/quotas).
 */
const WRITE_CHARS = 2 * 1024 * 1024;
const WRITE_ENTRIES = 1000;
/** Timeout of one call, in milliseconds. */
const CALL_TIMEOUT_MS = 20_000;
/**
 * BigQuery truncates timestamps to microseconds. An entry's id starts with the remaining nanoseconds, which keeps the
 * entries of one microsecond in order.
 */
const NANO_DIGITS = 3;

/** The calls that the adapter uses. The client package has no types for its low-level clients. */
interface LoggingCalls {
  listLogEntries(
    request: object,
    options: object,
  ): Promise<[readonly ProtoEntry[], unknown, { readonly nextPageToken?: string | null } | undefined]>;
  writeLogEntries(request: object, options: object): Promise<unknown>;
}

/** Of 60 reads a minute: 10 for deploys, 30 for followers, and 20 for searches. */
const SHARES: QuotaShares = { parts: 6, deploys: 1, followers: 3, isPerSecond: false };

const callOptions = { retry: null, timeout: CALL_TIMEOUT_MS } as const;

/**
 * Entries of the same nanosecond are ordered by insertId (google/logging/v2/logging.proto, `order_by`). Their order in
 * a descending listing is undocumented.
 */
const GRAIN = { asc: 0n, desc: 1n } as const;

const batchLimits: BatchLimits<NewLogEntry> = {
  sizeOf: ({ text, json, http }) => (text?.length ?? 0) + JSON.stringify([json, http]).length,
  maxSize: WRITE_CHARS,
  maxItems: WRITE_ENTRIES,
};

const reasonOf = (error: CallState | Unavailable): Unavailable | "invalid" => {
  if (!isCallState(error)) return error;
  if (error.code === "invalid") return "invalid";
  return unavailable(
    "Cloud Logging cannot find the project's logs. Ask the operator to run 'portside doctor'.",
    60,
    error.error,
  );
};

const insertIdOf = ({ instant, random }: EntryMark): string =>
  String(instant % 1000n).padStart(NANO_DIGITS, "0") + random;

interface EntryPage {
  readonly listed: readonly ProtoEntry[];
  readonly next: string | undefined;
}

export const createGcpLogs = (config: GcpConfig, clients: ClientSource, runtime: GcpRuntimeDeps): CloudLogs => {
  const { project } = config;
  const { logger } = runtime;
  const call = googleCalls(runtime);
  const client = async () => (await clients("logging")) as LoggingCalls;

  const listEntries = async (request: object, timeoutMs: number, signal?: AbortSignal): Listed<EntryPage> => {
    const resourceNames = [`projects/${project}`];
    const logging = await client();
    const found = await call({ what: "logging.entries.list", timeoutMs, signal }, () =>
      logging.listLogEntries({ resourceNames, ...request }, { ...callOptions, autoPaginate: false }),
    );
    return found
      .map(([listed, , response]) => ({ listed, next: response?.nextPageToken || undefined }))
      .mapErr(reasonOf);
  };

  const searchOf = (scope: LogScope, bound: Bound): LogSearch => ({
    pushed: bound === true ? "everything" : bound === false ? "nothing" : "some",
    list: async ({ take, signal }, { from, to, narrowed }, order, pageSize, token) => {
      const timeoutMs = await take();
      const base = [...logsOf(config), ownerIs(scope.owner), serviceIs(scope)];
      const bounds = [...base, ...at(">=", from), ...at("<=", to), narrowed ? bound : true];
      const filter = printLogFilter(all(bounds) as LogFilter);
      if (filter.length > FILTER_CHARS) return err("invalid");
      const request = { filter, orderBy: `timestamp ${order}`, pageSize, ...(token && { pageToken: token }) };
      return (await listEntries(request, timeoutMs, signal)).map(({ listed, next }) => {
        const entries = listed.flatMap((entry) => logEntryOf(scope, entry) ?? []);
        return { entries, ...(next && { next }) };
      });
    },
  });

  const driver: LogDriver = {
    service: "Cloud Logging",
    shares: SHARES,
    grain: GRAIN,
    maxPageEntries: PAGE_SIZE,

    /** Cloud Logging rejects an entry over 256 KB (https://cloud.google.com/logging/quotas). */
    append: (entries, nextMark, signal) => {
      const write = async (): Promise<Result<void, Unavailable>> => {
        for (const batch of batchesOf(entries, batchLimits)) {
          const written = batch.map((entry) => {
            const mark = nextMark();
            return protoEntryOf(config, entry, { instant: mark.instant, insertId: insertIdOf(mark) });
          });
          const request = { entries: written, partialSuccess: true };
          const logging = await client();
          const wrote = await call({ what: "logging.entries.write", signal }, () =>
            logging.writeLogEntries(request, callOptions),
          );
          if (wrote.isOk()) continue;
          if (!isCallState(wrote.error)) return err(wrote.error);
          const { error: cause } = wrote.error;
          logger.error("Cloud Logging rejected log entries; they are lost", { cause });
        }
        return ok(undefined);
      };
      return new ResultAsync(write());
    },

    /**
     * If Cloud Logging rejects the first search, the second one omits the client's filter, and Portside evaluates the
     * whole filter.
     */
    searches: (scope, filter) => {
      const pushed = pushdownOf(filter, { project, scope, compile: compileRe2 });
      return (pushed === true ? [true] : [pushed, true]).map((bound) => searchOf(scope, bound));
    },

    join: (logs, until) => {
      const { filter, read } = sharedFilter(config, logs, until);
      const filtered = read.filter((log) => typeof sharedCondition(config, log) !== "boolean");
      if (filter === undefined) return { read, filtered };
      const scopeOf = scopeFinder(read.map(({ scope }) => scope));
      return {
        read,
        filtered,
        list: async (pageToken) => {
          const request = { filter, orderBy: "timestamp asc", pageSize: PAGE_SIZE, ...(pageToken && { pageToken }) };
          return (await listEntries(request, 0)).map(({ listed, next }) => {
            const entries = listed.flatMap((entry) => {
              const scope = scopeOf(entry);
              return (scope && logEntryOf(scope, entry)) ?? [];
            });
            return { entries, size: listed.length, end: entries.at(-1), next };
          });
        },
      };
    },
  };

  return createCloudLogs(driver, runtime, config.logReadsPerMinute);
};
