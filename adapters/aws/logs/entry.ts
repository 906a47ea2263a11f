/**
 * A log entry between CloudWatch Logs' form and the core's. What the platform writes is JSON that has the whole entry, in
 * a stream of its own; what a service writes is a line, in the streams of its tasks:
 * https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_FilteredLogEvent.html
 */
import type { Instant } from "../../../core/domain/instant.ts";
import { nameCode } from "../../../core/domain/log-cursor.ts";
import {
  type LogEntry,
  type LogName,
  type NewLogEntry,
  type Severity,
  severities,
} from "../../../core/domain/log-entry.ts";
import { readLine } from "../../../core/domain/log-line.ts";
import type { LogScope } from "../../../core/ports/log-store.ts";
import { streamPrefixOf } from "../log-streams.ts";

/** An event as the client package hands it on. */
export interface LogEvent {
  readonly logStreamName?: string | undefined;
  /** Milliseconds since 1970. */
  readonly timestamp?: number | undefined;
  readonly message?: string | undefined;
  readonly eventId?: string | undefined;
}

const NANOS_PER_MILLI = 1_000_000n;

/** Of the stream that the platform writes to, behind the deployment's prefix; no task's stream is called so. */
export const PLATFORM_STREAM = "platform";

/** Services are read from both streams of their tasks as one: https://docs.docker.com/engine/logging/drivers/awslogs/ */
const SERVICE_LOG: LogName = "stdout";

/** What the platform writes. The letters are few, because every byte of a log is paid for. */
interface Written {
  readonly portside: 1;
  /** Nanoseconds since 1970, as text: JSON's numbers are not exact there. */
  readonly at: string;
  /** Tells entries of one nanosecond apart, and is the same when a write is repeated. */
  readonly id: string;
  readonly severity: Severity;
  readonly log: LogName;
  readonly revision?: string;
  readonly instance?: string;
  readonly text?: string;
  readonly json?: NewLogEntry["json"];
  readonly http?: NewLogEntry["http"];
}

export const messageFor = (
  { owner: _o, service: _s, logName, ...entry }: NewLogEntry,
  at: Instant,
  id: string,
): string => JSON.stringify({ portside: 1, at: String(at), id, log: logName, ...entry } satisfies Written);

const isWritten = (json: Partial<Written>): json is Written =>
  json.portside === 1 &&
  /^\d+$/.test(String(json.at)) &&
  typeof json.id === "string" &&
  Object.hasOwn(severities, String(json.severity));

const writtenOf = (message: string): Written | undefined => {
  try {
    const json = JSON.parse(message) as Partial<Written> | null;
    return json !== null && isWritten(json) ? json : undefined;
  } catch {
    return undefined;
  }
};

const given = <K extends string, T>(name: K, value: T | undefined): Partial<Record<K, T>> =>
  value === undefined ? {} : ({ [name]: value } as Partial<Record<K, T>>);

const ofPlatform = (scope: LogScope, { at, id, severity, log, ...written }: Written): LogEntry => ({
  owner: scope.owner,
  service: scope.service,
  severity,
  logName: log,
  ...given("revision", written.revision),
  ...given("instance", written.instance),
  ...given("text", written.text),
  ...given("json", written.json),
  ...given("http", written.http),
  instant: BigInt(at) as Instant,
  code: nameCode(id),
});

/** A task's stream is `PREFIX/CONTAINER/TASK`: .../AmazonECS/latest/developerguide/specify-log-config.html */
const ofService = (scope: LogScope, path: string, event: LogEvent): LogEntry => {
  const [revision = "", ...rest] = path.split("/");
  const instance = rest.at(-1);
  return {
    owner: scope.owner,
    service: scope.service,
    logName: SERVICE_LOG,
    ...readLine(event.message ?? "", SERVICE_LOG),
    ...given("revision", revision),
    ...given("instance", instance),
    instant: (BigInt(event.timestamp ?? 0) * NANOS_PER_MILLI) as Instant,
    code: nameCode(event.eventId ?? ""),
  };
};

/** The core's form of an event of this scope; undefined for one that is none of a deployment's. */
export const logEntryOf = (scope: LogScope, event: LogEvent): LogEntry | undefined => {
  const prefix = streamPrefixOf(scope.owner, scope.service);
  const name = event.logStreamName ?? "";
  if (!name.startsWith(prefix)) return undefined;
  const path = name.slice(prefix.length);
  if (path !== PLATFORM_STREAM) return ofService(scope, path, event);
  const written = writtenOf(event.message ?? "");
  return written === undefined ? undefined : ofPlatform(scope, written);
};

/** What holds of every entry that a service has written, whatever it says. */
export const serviceLine = ({ owner, service }: LogScope): LogEntry => ({
  ...{ owner, service, severity: "DEFAULT", logName: SERVICE_LOG, instant: 0n as Instant, code: "" },
});
