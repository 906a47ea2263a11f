/** Log entries, as stores receive them and as clients see them. */
import { z } from "zod";
import type { AccountId } from "../accounts/account.ts";
import type { DeployUpdate } from "../deploy/events.ts";
import type { Timestamp } from "../wire/instant.ts";
import type { DeploymentName } from "../wire/names.ts";
import type { LogPosition } from "./cursor.ts";

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

/** A severity name. `severities` contains its rank. */
export type Severity = keyof typeof severities;
export const severityNames = Object.keys(severities) as [Severity, ...Severity[]];

const logNames = ["stdout", "stderr", "requests", "platform"] as const;

/** The origin of an entry: an output stream of the service, the requests to the service, or the platform. */
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
  /** Seconds with the suffix `s`, like a protobuf duration. */
  readonly latency: string;
}

/** The fields of a structured entry. */
export type JsonPayload = Readonly<Record<string, unknown>>;

/** An entry before the store assigns its position. */
export interface NewLogEntry {
  readonly owner: AccountId;
  readonly service: DeploymentName;
  readonly severity: Severity;
  readonly logName: LogName;
  readonly revision?: string;
  readonly instance?: string;
  /** The line; absent if the entry is structured or reports a request. */
  readonly text?: string;
  readonly json?: JsonPayload;
  readonly http?: HttpRequestLog;
}

/** Returns whether JSON can represent the entry. A store may drop an entry only if `isWritable` returns false. */
export const isWritable = ({ json }: NewLogEntry): boolean => {
  try {
    return json === undefined || JSON.stringify(json) !== undefined;
  } catch {
    return false;
  }
};

/** An entry with its position in the log. */
export interface LogEntry extends NewLogEntry, LogPosition {}

/** Returns the log entry that reports the start or the end of a deploy. */
export const deployEntry = (
  owner: AccountId,
  service: DeploymentName,
  deployId: string,
  update: DeployUpdate,
): NewLogEntry => ({
  owner,
  service,
  severity: update.status === "ERROR" ? "ERROR" : "INFO",
  logName: "platform",
  json: {
    event: "deploy",
    message: update.message,
    deploy_id: deployId,
    status: update.status,
    ...(update.reason === undefined ? {} : { reason: update.reason }),
    ...(update.exit_code === undefined ? {} : { exit_code: update.exit_code }),
    ...(update.log_tail === undefined ? {} : { log_tail: update.log_tail }),
  },
});

/** Returns the message of an entry: the line, or the compact JSON of a structured entry. */
export const messageOf = ({ text, json, http }: NewLogEntry): string =>
  text ?? JSON.stringify(http === undefined ? (json ?? {}) : { httpRequest: http, ...json });

export const logRowSchema = z
  .object({
    timestamp: z.string().meta({ format: "date-time" }),
    severity: z.enum(severityNames),
    message: z.string(),
    log_name: z
      .enum(logNames)
      .meta({ description: "The source of the entry. A service cannot write entries of `platform`." }),
    insert_id: z.string().meta({ description: "The unique id of the entry. Ids sort in the order of the log." }),
    revision: z.string().optional().meta({ description: "The revision that the entry is about, if known." }),
    instance_id: z.string().optional().meta({ description: "The instance that the entry is about, if known." }),
    entry: z.record(z.string(), z.unknown()).optional().meta({
      description: "The whole entry, with the field names of filters. Present if the request has `full`.",
    }),
  })
  .readonly();

export const logPageSchema = z
  .object({
    logs: z.array(logRowSchema),
    // Not declared as a date-time, because the date types of generated clients keep fewer digits.
    cursor: z.string().meta({
      description: "A date-time. Pass it unchanged as the next `since`, or as the next `until` in descending order.",
    }),
  })
  .readonly();

/** A page of a log as clients see it. */
export type LogPage = z.output<typeof logPageSchema> & {
  /** True if the search stopped early. The next search continues from the cursor. */
  readonly partial: boolean;
  /** Milliseconds that a follower should wait before it reads the next page. Absent if it need not wait. */
  readonly pollAfterMs?: number;
};

/**
 * Returns the id of an entry, for clients and filters.
 * @param timestamp the entry's instant, as formatted by `timestampOf`
 */
export const insertIdOf = (timestamp: Timestamp, code: string): string =>
  `${timestamp.slice(0, 19)}.${timestamp.slice(20, -6).padEnd(9, "0")}-${code}`;
