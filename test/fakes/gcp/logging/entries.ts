/** The fake Cloud Logging's entries: which it accepts, how it completes them, and how it orders them. */
import { GrpcError, type Message } from "../grpc.ts";
import type { EntryJson } from "./filter.ts";

export interface KeptEntry {
  /** The wire form: longs are strings, and `payload` names the set member. */
  readonly message: Message;
  readonly json: EntryJson;
  readonly nanos: bigint;
  readonly insertId: string;
  /** The service in its resource; empty if the resource is not a service. */
  readonly service: string;
  /** Approximate size in characters. */
  readonly size: number;
  /** Time in nanoseconds. */
  readonly visibleAt: bigint;
}

/**
 * "256 KB", "estimated from the internal data size" (https://cloud.google.com/logging/quotas). Google does not document
 * how the estimate differs from the text's length. The fake assumes 256 KiB, plus 8 KiB for the rest of an entry.
 */
const ENTRY_BYTES = 264 * 1024;
/** "Labels per LogEntry: 64" (https://cloud.google.com/logging/quotas). */
const LABELS = 64;
const DAY_NANOS = 86_400_000_000_000n;
const RETENTION_DAYS = 30n;

const valueJson = (value: Message): unknown => {
  switch (value.kind) {
    case "structValue":
      return structJson(value.structValue);
    case "listValue":
      return value.listValue.values.map(valueJson);
    case "nullValue":
      return null;
    default:
      return value[value.kind];
  }
};

const structJson = (struct: Message): Record<string, unknown> =>
  Object.fromEntries(Object.entries(struct.fields ?? {}).map(([key, value]) => [key, valueJson(value)]));

export const isoOf = (nanos: bigint): string => {
  const millis = nanos / 1_000_000n;
  return `${new Date(Number(millis)).toISOString().slice(0, 19)}.${String(nanos % 1_000_000_000n).padStart(9, "0")}Z`;
};

const given = (fields: Message): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== "" && value !== "0" && value !== null));

const httpJson = (http: Message): Record<string, unknown> => ({
  ...given({ ...http, requestSize: Number(http.requestSize) || null, responseSize: Number(http.responseSize) || null }),
  latency: http.latency === null ? undefined : `${Number(http.latency.seconds) + http.latency.nanos / 1e9}s`,
});

const jsonOf = (message: Message, nanos: bigint): EntryJson => ({
  ...given({ logName: message.logName, insertId: message.insertId, trace: message.trace }),
  timestamp: isoOf(nanos),
  severity: message.severity,
  resource: { type: message.resource.type, labels: message.resource.labels },
  labels: message.labels,
  ...(message.payload === "textPayload" ? { textPayload: message.textPayload } : {}),
  ...(message.payload === "jsonPayload" ? { jsonPayload: structJson(message.jsonPayload) } : {}),
  ...(message.httpRequest ? { httpRequest: httpJson(message.httpRequest) } : {}),
});

const invalid = (message: string): GrpcError => new GrpcError("INVALID_ARGUMENT", message);

/** LOG_ID: letters, digits, `/_-.`, fewer than 512 characters (log_entry.proto). */
const LOG_NAME = /^projects\/[a-z0-9-]+\/logs\/([A-Za-z0-9/_.-]|%2F){1,511}$/;

/** Returns the entry to store; undefined if its time is outside the ingestion window (log_entry.proto). */
export const keptOf = (entry: Message, now: bigint, visibleAt: bigint, nextId: () => string): KeptEntry | undefined => {
  if (!LOG_NAME.test(entry.logName)) throw invalid(`'${entry.logName}' is not a valid log name`);
  if (!entry.resource?.type) throw invalid("an entry needs a resource");
  if (Object.keys(entry.labels ?? {}).length > LABELS) throw invalid("an entry may have 64 labels");
  const time = entry.timestamp;
  const nanos = time === null ? now : BigInt(time.seconds) * 1_000_000_000n + BigInt(time.nanos);
  const insertId = entry.insertId === "" ? nextId() : entry.insertId;
  const stamp = { seconds: String(nanos / 1_000_000_000n), nanos: Number(nanos % 1_000_000_000n) };
  const message = { ...entry, insertId, timestamp: stamp, receiveTimestamp: stamp };
  const json = jsonOf(message, nanos);
  const size = Buffer.byteLength(JSON.stringify(json));
  if (size > ENTRY_BYTES) throw invalid("Log entry is too large: 256 KB at most");
  if (nanos < now - RETENTION_DAYS * DAY_NANOS || nanos > now + DAY_NANOS) return undefined;
  const service = String(entry.resource.labels?.service_name ?? "");
  return { message, json, nanos, insertId, service, size, visibleAt };
};

export const compareEntries = (a: KeptEntry, b: KeptEntry): number =>
  a.nanos < b.nanos ? -1 : a.nanos > b.nanos ? 1 : Buffer.compare(Buffer.from(a.insertId), Buffer.from(b.insertId));
