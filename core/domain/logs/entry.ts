/** One line of a service's record, and its place in the total order of its deployment's log. */
import { z } from "zod";
import type { AccountId } from "../accounts/account.ts";
import type { DeployNews } from "../deploy/events.ts";
import { type Timestamp, timestampOf } from "../wire/instant.ts";
import type { DeploymentName } from "../wire/names.ts";
import { cursorOf, type LogPosition } from "./cursor.ts";

/** Severities by rank: https://docs.cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry#LogSeverity */
export const severities = {
  DEFAULT: 0,
  DEBUG: 100,
  INFO: 200,
  NOTICE: 300,
  WARNING: 400,
  ERROR: 500,
  CRITICAL: 600,
  ALERT: 700,
  EMERGENCY: 800,
} as const;

export type Severity = keyof typeof severities;
export const severityNames = Object.keys(severities) as [Severity, ...Severity[]];

const logNames = ["stdout", "stderr", "requests", "platform"] as const;

/** Where an entry came from: the service's two streams, the requests it served, the platform itself. */
export type LogName = (typeof logNames)[number];

/** A served request: https://docs.cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry#HttpRequest */
export interface HttpRequestLog {
  readonly requestMethod: string;
  readonly requestUrl: string;
  readonly status: number;
  readonly requestSize?: number;
  readonly responseSize?: number;
  readonly userAgent?: string;
  readonly remoteIp?: string;
  readonly protocol?: string;
  /** Seconds with an `s` behind, as protobuf durations are written. */
  readonly latency: string;
}

export type JsonPayload = Readonly<Record<string, unknown>>;

/** An entry before the store gave it its place. */
export interface NewLogEntry {
  readonly owner: AccountId;
  readonly service: DeploymentName;
  readonly severity: Severity;
  readonly logName: LogName;
  readonly revision?: string;
  readonly instance?: string;
  /** The line; absent where the entry is structured. */
  readonly text?: string;
  readonly json?: JsonPayload;
  readonly http?: HttpRequestLog;
}

/** Returns false if the entry contains values that JSON cannot represent. A store drops such an entry, but no other. */
export const isWritable = ({ json }: NewLogEntry): boolean => {
  try {
    return json === undefined || JSON.stringify(json) !== undefined;
  } catch {
    return false;
  }
};

export interface LogEntry extends NewLogEntry, LogPosition {}

/** How a deploy appears in its deployment's own log: when it begins and when it ends, however it ends. */
export const deployEntry = (
  owner: AccountId,
  service: DeploymentName,
  deployId: string,
  news: DeployNews,
): NewLogEntry => ({
  owner,
  service,
  severity: news.status === "ERROR" ? "ERROR" : "INFO",
  logName: "platform",
  json: {
    event: "deploy",
    message: news.message,
    deploy_id: deployId,
    status: news.status,
    ...(news.reason === undefined ? {} : { reason: news.reason }),
    ...(news.exit_code === undefined ? {} : { exit_code: news.exit_code }),
  },
});

/** What a client reads: the line, or the compact JSON text of a structured entry. */
export const messageOf = ({ text, json, http }: NewLogEntry): string =>
  text ?? JSON.stringify(http === undefined ? (json ?? {}) : { httpRequest: http, ...json });

export const logRowSchema = z
  .object({
    timestamp: z.string().meta({ format: "date-time" }),
    severity: z.enum(severityNames),
    message: z.string(),
    log_name: z.enum(logNames).meta({ description: "Who wrote it: no line of a service can say `platform`." }),
    insert_id: z.string().meta({ description: "The entry's own id, in the order of the log." }),
    revision: z.string().optional().meta({ description: "The revision that it came from, where one is known." }),
    instance_id: z.string().optional().meta({ description: "The instance that it came from, where one is known." }),
  })
  .readonly();

export const logPageSchema = z
  .object({
    logs: z.array(logRowSchema),
    // No date-time to generators, whose types keep fewer digits.
    cursor: z.string().meta({ description: "A date-time; pass it on verbatim as the next `since`." }),
  })
  .readonly();

export type LogPage = z.output<typeof logPageSchema> & {
  /** The search was ended before its end; the cursor leads on from where it stood. */
  readonly partial: boolean;
};

/**
 * The id of an entry, to clients and to filters.
 * @param timestamp the entry's, which a page writes anyway: the id is cut from it, because a page has up to 1000 of them
 */
export const insertIdOf = (timestamp: Timestamp, code: string): string =>
  `${timestamp.slice(0, 19)}.${timestamp.slice(20, -6).padEnd(9, "0")}-${code}`;

const rowOf = (entry: LogEntry): LogPage["logs"][number] => {
  const timestamp = timestampOf(entry.instant);
  return {
    timestamp,
    severity: entry.severity,
    message: messageOf(entry),
    log_name: entry.logName,
    insert_id: insertIdOf(timestamp, entry.code),
    revision: entry.revision,
    instance_id: entry.instance,
  };
};

/**
 * A page of entries, oldest first, as clients read it.
 * @param seen where the next page begins
 */
export const logPageOf = (entries: readonly LogEntry[], seen: LogPosition, partial: boolean): LogPage => ({
  logs: entries.map(rowOf),
  cursor: cursorOf(seen),
  partial,
});
