/** Cloud Logging in memory: google/logging/v2/logging.proto. */
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { GrpcError, type Message } from "../grpc.ts";
import { PROJECT, REGION } from "../test-project.ts";
import { compareEntries, type KeptEntry, keptOf } from "./entries.ts";
import { filterOf } from "./filter.ts";
import { messageOfLine, messageOfRequest, messageOfSystem, type ServedRequest, type ServiceLine } from "./ingest.ts";

export interface FakeLoggingOptions {
  readonly clock: Clock;
  /** Milliseconds until listings show an entry. */
  readonly visibleAfter?: number;
  /** Order of ids for entries of one timestamp in a descending listing; the proto leaves it open. */
  readonly ties?: "ascending" | "as listed";
  /**
   * "entries.list requests: 60 per minute, per project" (https://cloud.google.com/logging/quotas); default: no limit.
   */
  readonly readsPerMinute?: number;
  /** Entries that one call examines before it responds with partial results and a token. */
  readonly looksAt?: number;
}

/**
 * Requests and responses have size limits. The response limit is undocumented; assumed to be 10 MB, as for requests.
 */
const ANSWER_BYTES = 10_000_000;
/** The text of the real service, as in https://github.com/googleapis/java-logging/issues/1129. */
const QUOTA_EXCEEDED =
  "Quota exceeded for quota metric 'Read requests' and limit 'Read requests per minute' of service " +
  "'logging.googleapis.com' for consumer 'project_number:123456789012'.";
const MINUTE_MS = 60_000;
const DEFAULT_PAGE = 50;
const MOST = 1000;

const same = (a: KeptEntry, b: KeptEntry): boolean => a.nanos === b.nanos && a.insertId === b.insertId;

const place = { project: PROJECT, region: REGION };

/** The service without a server. */
export const createLoggingService = (options: FakeLoggingOptions) => {
  const { clock, visibleAfter = 0, ties = "as listed", looksAt = Number.POSITIVE_INFINITY } = options;
  const { readsPerMinute = Number.POSITIVE_INFINITY } = options;
  const entries: KeptEntry[] = [];
  let ids = 0;
  const nextId = () => `${String(++ids).padStart(10, "0")}f`;

  const keep = (messages: readonly Message[]): void => {
    const visibleAt = clock.now() + BigInt(visibleAfter) * 1_000_000n;
    // Entries of one call without their own times sort in list order (`entries`).
    let now: bigint = clock.now();
    const kept = messages.map((message) => keptOf(message, now++, visibleAt, nextId));
    entries.push(...kept.filter((one) => one !== undefined));
    listings = new Map();
  };

  const write = ({ entries: given, logName, resource, labels, partialSuccess, dryRun }: Message): object => {
    const completed = given.map((entry: Message) => ({
      ...entry,
      logName: entry.logName || logName,
      resource: entry.resource ?? resource,
      labels: { ...labels, ...entry.labels },
    }));
    let failure: unknown;
    for (const one of partialSuccess ? completed.map((entry: Message) => [entry]) : [completed])
      try {
        if (!dryRun) keep(one);
      } catch (error) {
        failure ??= error;
      }
    if (failure !== undefined) throw failure;
    return {};
  };

  /** "Duplicates ... are removed in a single query result" (log_entry.proto, `insert_id`). */
  const sorted = (): readonly KeptEntry[] => {
    const all = entries.toSorted(compareEntries);
    return all.filter((one, index) => index === 0 || !same(one, all[index - 1] as KeptEntry));
  };
  interface Listings {
    readonly asc: readonly KeptEntry[];
    readonly desc: readonly KeptEntry[];
  }
  let listings = new Map<string | undefined, Listings>();
  const listingsOf = (service: string | undefined): Listings => {
    const known = listings.get(service);
    if (known !== undefined) return known;
    const all = service === undefined ? sorted() : listingsOf(undefined).asc;
    const asc = service === undefined ? all : all.filter((one) => one.service.toLowerCase() === service.toLowerCase());
    const byId = (a: KeptEntry, b: KeptEntry) => (a.nanos === b.nanos ? compareEntries(a, b) : compareEntries(b, a));
    const made = { asc, desc: ties === "as listed" ? asc.toReversed() : asc.toSorted(byId) };
    listings.set(service, made);
    return made;
  };

  const orders = new Map([
    ["", false],
    ["timestamp asc", false],
    ["timestamp desc", true],
  ]);

  /** Validates a request; returns the key for which its page tokens are valid. */
  const queryOf = ({ resourceNames, filter, orderBy, pageSize }: Message): string => {
    if (!orders.has(orderBy)) throw new GrpcError("INVALID_ARGUMENT", `cannot order by '${orderBy}'`);
    if (pageSize < 0 || pageSize > MOST) throw new GrpcError("INVALID_ARGUMENT", "page_size must be in 0-1000");
    if (resourceNames.length === 0) throw new GrpcError("INVALID_ARGUMENT", "resource_names are required");
    return JSON.stringify([resourceNames, filter, orderBy]);
  };

  const pageFrom = (all: readonly KeptEntry[], from: number, size: number, passes: (one: KeptEntry) => boolean) => {
    const page: Message[] = [];
    let bytes = 0;
    for (let index = from; index < all.length; index++) {
      const one = all[index] as KeptEntry;
      if (passes(one)) {
        page.push(one.message);
        bytes += one.size;
      }
      const isEnd = page.length === size || bytes > ANSWER_BYTES || index - from + 1 >= looksAt;
      if (isEnd && index < all.length - 1) return { page, last: `${one.nanos} ${one.insertId}` };
    }
    return { page };
  };

  let reads: number[] = [];
  let refused = 0;
  const count = (): void => {
    const now = millisOf(clock.now());
    reads = reads.filter((at) => at > now - MINUTE_MS);
    if (reads.length >= readsPerMinute) {
      refused++;
      throw new GrpcError("RESOURCE_EXHAUSTED", QUOTA_EXCEEDED);
    }
    reads.push(now);
  };

  const list = (request: Message): object => {
    count();
    const query = queryOf(request);
    const { passes, service } = filterOf(request.filter);
    const [before, asked] = request.pageToken === "" ? [undefined, query] : JSON.parse(request.pageToken);
    if (asked !== query) throw new GrpcError("INVALID_ARGUMENT", "the page token belongs to another query");
    if (!request.resourceNames.includes(`projects/${PROJECT}`)) return { entries: [], nextPageToken: "" };
    const all = listingsOf(service)[orders.get(request.orderBy) === true ? "desc" : "asc"];
    const from = before === undefined ? 0 : all.findIndex((one) => `${one.nanos} ${one.insertId}` === before) + 1;
    const now = clock.now();
    const { page, last } = pageFrom(
      all,
      from,
      request.pageSize || DEFAULT_PAGE,
      ({ visibleAt, json }) => visibleAt <= now && passes(json),
    );
    return { entries: page, nextPageToken: last === undefined ? "" : JSON.stringify([last, query]) };
  };

  return {
    write,
    list,
    /** Number of reads that the quota rejected. */
    refused: () => refused,
    /** The stored entries, in the log's order. */
    entries: (): readonly KeptEntry[] => listingsOf(undefined).asc,
    ingest: (line: ServiceLine) => keep([messageOfLine(place, line)]),
    ingestSystem: (line: Omit<ServiceLine, "stream">) => keep([messageOfSystem(place, line)]),
    ingestRequest: (served: ServedRequest) => keep([messageOfRequest(place, served)]),
    /** Adds entries as a Google agent writes them, with their own times and ids. */
    ingestEntries: (messages: readonly Message[]) => keep(messages),
  };
};
