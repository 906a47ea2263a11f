/** CloudWatch Logs in memory. Source: the service model of @aws-sdk/client-cloudwatch-logs. */
import { createHash } from "node:crypto";
import { millisOf } from "../../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { type AdverseBehaviors, LOG_READS_PER_SECOND, noneAdverse } from "../adverse.ts";
import type { Message } from "../protocols.ts";
import { AwsError } from "../server.ts";
import { checkedBatch, compareEvents, invalid, type KeptEvent } from "./events.ts";

export interface FakeCloudWatchOptions {
  readonly clock: Clock;
  /** Groups that exist from the start; CreateLogGroup adds others. */
  readonly groups?: readonly string[];
  /** Milliseconds until an event appears in searches. */
  readonly visibleAfter?: number;
  readonly adverse?: AdverseBehaviors;
  /** How many events one call scans before it returns its matches, if any, and a token. */
  readonly looksAt?: number;
}

/** "Each page returned can contain up to 1 MB of log events or up to 10,000 log events." */
const PAGE_BYTES = 1_048_576;
const PAGE_EVENTS = 10_000;
const FIRST_BACKWARDS = Date.UTC(2024, 0, 1);

/** A line from a container, as its log driver writes it. */
export interface IngestedLine {
  /** Defaults to the first group. */
  readonly group?: string;
  /** `PREFIX/CONTAINER/TASK`. */
  readonly stream: string;
  readonly line: string;
  /** Milliseconds since 1970; defaults to now. */
  readonly time?: number;
}

interface Page {
  readonly events: readonly KeptEvent[];
  readonly next?: number;
}

/** The service without a server. */
export const createCloudWatchService = (options: FakeCloudWatchOptions) => {
  const { clock, groups: given = ["/portside/services"], visibleAfter = 0 } = options;
  const { adverse = noneAdverse, looksAt = Number.POSITIVE_INFINITY } = options;
  const readsPerSecond = adverse.has("log_read_quota") ? LOG_READS_PER_SECOND : Number.POSITIVE_INFINITY;
  const groups = new Map<string, Map<string, KeptEvent[]>>(given.map((name) => [name, new Map()]));
  let requests = 0;
  const now = (): number => millisOf(clock.now());

  const groupOf = (name: unknown): Map<string, KeptEvent[]> => {
    const group = groups.get(String(name));
    if (group === undefined) throw new AwsError("ResourceNotFoundException", "The specified log group does not exist.");
    return group;
  };

  /** Event ids have 56 digits. AWS does not document that they rise with time, so these do not. */
  const idOf = (stream: string, request: number, index: number): string => {
    const digest = createHash("sha256").update(`${stream} ${request} ${index}`).digest("hex");
    return BigInt(`0x${digest}`).toString().padStart(56, "0").slice(0, 56);
  };

  const keep = (group: Map<string, KeptEvent[]>, stream: string, events: readonly Message[]): void => {
    const kept = group.get(stream);
    if (kept === undefined) throw new AwsError("ResourceNotFoundException", "The specified log stream does not exist.");
    const request = ++requests;
    const visibleAt = now() + visibleAfter;
    for (const [index, { timestamp, message }] of events.entries()) {
      const eventId = idOf(stream, request, index);
      kept.push({ stream, timestamp, ingestionTime: now(), request, index, message, eventId, visibleAt });
    }
  };

  const put = ({ logGroupName, logStreamName, logEvents }: Message): object => {
    const group = groupOf(logGroupName);
    const { valid, rejected } = checkedBatch(logEvents ?? [], now());
    keep(group, logStreamName, valid);
    return {
      nextSequenceToken: String(requests),
      ...(rejected === undefined ? {} : { rejectedLogEventsInfo: rejected }),
    };
  };

  const createStream = ({ logGroupName, logStreamName }: Message): object => {
    const group = groupOf(logGroupName);
    // "Don't use ':' (colon) or '*' (asterisk) characters"; 1 to 512 (CreateLogStreamCommand).
    if (!/^[^:*]{1,512}$/.test(String(logStreamName)))
      throw invalid(`'${logStreamName}' is not a valid log stream name`);
    if (group.has(logStreamName))
      throw new AwsError("ResourceAlreadyExistsException", "The specified log stream already exists");
    group.set(logStreamName, []);
    return {};
  };

  const createGroup = ({ logGroupName }: Message): object => {
    if (groups.has(logGroupName))
      throw new AwsError("ResourceAlreadyExistsException", "The specified log group already exists");
    groups.set(logGroupName, new Map());
    return {};
  };

  let reads: number[] = [];
  let refused = 0;
  const count = (): void => {
    reads = reads.filter((at) => at > now() - 1000);
    if (reads.length >= readsPerSecond) {
      refused++;
      throw new AwsError("ThrottlingException", "Rate exceeded");
    }
    reads.push(now());
  };

  const streamsOf = ({ logGroupName, logStreamNames, logStreamNamePrefix }: Message): readonly string[] => {
    const group = groupOf(logGroupName);
    if (logStreamNames !== undefined && logStreamNamePrefix !== undefined)
      throw invalid("logStreamNames and logStreamNamePrefix exclude each other");
    if (logStreamNames === undefined)
      return [...group.keys()].filter((name) => name.startsWith(logStreamNamePrefix ?? ""));
    for (const name of logStreamNames)
      if (!group.has(name)) throw new AwsError("ResourceNotFoundException", "The specified log stream does not exist.");
    return logStreamNames;
  };

  /** Scans events from the index `from` until a page is full. */
  const pageFrom = (all: readonly KeptEvent[], from: number, limit: number): Page => {
    const events: KeptEvent[] = [];
    let bytes = 0;
    for (let index = from; index < all.length; index++) {
      const one = all[index] as KeptEvent;
      bytes += Buffer.byteLength(one.message);
      if (events.length > 0 && (events.length >= limit || bytes > PAGE_BYTES)) return { events, next: index };
      if (index - from >= looksAt) return { events, next: index };
      if (one.visibleAt <= now()) events.push(one);
    }
    return { events };
  };

  const filter = (input: Message): object => {
    count();
    const { startTime = 0, endTime = Number.POSITIVE_INFINITY, limit = PAGE_EVENTS, filterPattern, nextToken } = input;
    if (limit < 1 || limit > PAGE_EVENTS) throw invalid("limit must be in 1 to 10,000");
    if (startTime < 0 || endTime < startTime) throw invalid("the time range is malformed");
    if (filterPattern !== undefined) throw new AwsError("UnsupportedByFake", "no filter patterns here", 501);
    const streams = new Set(streamsOf(input));
    // From the second page on, "The nextToken determines the sort direction".
    const token = nextToken === undefined ? undefined : JSON.parse(nextToken);
    const backwards: boolean = token?.backwards ?? input.startFromHead === false;
    if (backwards && startTime < FIRST_BACKWARDS)
      throw invalid("startFromHead=false needs a startTime on or after Jan 1, 2024");
    const all = [...groupOf(input.logGroupName)]
      .filter(([name]) => streams.has(name))
      .flatMap(([, events]) => events)
      .filter(({ timestamp }) => timestamp >= startTime && timestamp <= endTime)
      .toSorted((a, b) => (backwards ? compareEvents(b, a) : compareEvents(a, b)));
    const from = token === undefined ? 0 : all.findIndex(({ eventId }) => eventId === token.at);
    const { events, next } = pageFrom(all, Math.max(from, 0), limit);
    return {
      events: events.map(({ stream, timestamp, ingestionTime, message, eventId }) => ({
        logStreamName: stream,
        timestamp,
        ingestionTime,
        message,
        eventId,
      })),
      searchedLogStreams: [],
      ...(next === undefined ? {} : { nextToken: JSON.stringify({ at: all[next]?.eventId, backwards }) }),
    };
  };

  /** GetLogEvents from the head. At the end, its forward token stays the same (GetLogEventsCommand). */
  const get = ({ logGroupName, logStreamName, nextToken = "f/0" }: Message): object => {
    const events = groupOf(logGroupName).get(logStreamName);
    if (events === undefined)
      throw new AwsError("ResourceNotFoundException", "The specified log stream does not exist.");
    const from = Number(/^f\/(\d+)$/.exec(nextToken)?.[1] ?? Number.NaN);
    if (Number.isNaN(from)) throw invalid("The specified nextToken is invalid.");
    const page = events.slice(from, from + PAGE_EVENTS);
    return {
      events: page.map(({ timestamp, ingestionTime, message }) => ({ timestamp, ingestionTime, message })),
      nextForwardToken: `f/${from + page.length}`,
      nextBackwardToken: "b/0",
    };
  };

  const methods = {
    GetLogEvents: get,
    PutLogEvents: put,
    FilterLogEvents: filter,
    CreateLogStream: createStream,
    CreateLogGroup: createGroup,
  };
  return {
    methods,
    /** Number of reads that the quota rejected. */
    refused: () => refused,
    /** Adds a line of a task or a build; creates the stream, as the log driver does. */
    ingest: ({ group: name = given[0], stream, line, time = now() }: IngestedLine): void => {
      const group = groupOf(name);
      if (!group.has(stream)) group.set(stream, []);
      keep(group, stream, [{ timestamp: time, message: line }]);
    },
    /** All events in log order. */
    events: (): readonly KeptEvent[] =>
      [...groups.values()].flatMap((streams) => [...streams.values()].flat()).toSorted(compareEvents),
  };
};
