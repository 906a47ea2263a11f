/**
 * Converts log entries between CloudWatch Logs and the core. The platform writes whole entries as JSON to its own
 * stream. Services write plain lines to the streams of their tasks.
 * https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_FilteredLogEvent.html
 */

import type { FilteredLogEvent } from "@aws-sdk/client-cloudwatch-logs";
import { nameCode } from "../../../core/domain/logs/cursor.ts";
import {
  type LogEntry,
  type LogName,
  type NewLogEntry,
  type Severity,
  severities,
} from "../../../core/domain/logs/entry.ts";
import { readLine } from "../../../core/domain/logs/line.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { LogScope } from "../../../core/ports/log-store.ts";
import { parseJson } from "../state/parse-json.ts";
import { streamPrefixOf } from "./streams.ts";

const NANOS_PER_MILLI = 1_000_000n;

/** Name of the platform's stream, after the deployment's prefix. No task's stream has this name. */
export const PLATFORM_STREAM = "platform";

/** The log driver merges a task's stdout and stderr: https://docs.docker.com/engine/logging/drivers/awslogs/ */
const SERVICE_LOG: LogName = "stdout";

/** An entry that the platform writes. Keys are short because AWS charges per byte. */
interface PlatformEvent {
  readonly portside: 1;
  /** Nanoseconds since 1970, as text: JSON numbers would lose precision. */
  readonly at: string;
  /** Distinguishes entries of the same nanosecond. A retry of a write reuses the id. */
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
): string => JSON.stringify({ portside: 1, at: String(at), id, log: logName, ...entry } satisfies PlatformEvent);

const isPlatformEvent = (json: Partial<PlatformEvent>): json is PlatformEvent =>
  json.portside === 1 &&
  /^\d+$/.test(String(json.at)) &&
  typeof json.id === "string" &&
  Object.hasOwn(severities, String(json.severity));

const platformEventOf = (message: string): PlatformEvent | undefined => {
  const json = parseJson(message) as Partial<PlatformEvent> | null | undefined;
  return json != null && isPlatformEvent(json) ? json : undefined;
};

const ofPlatform = (
  { owner, service }: LogScope,
  { at, id, log: logName, severity, revision, instance, text, json, http }: PlatformEvent,
): LogEntry => ({
  owner,
  service,
  severity,
  logName,
  instant: BigInt(at) as Instant,
  code: nameCode(id),
  ...(revision !== undefined && { revision }),
  ...(instance !== undefined && { instance }),
  ...(text !== undefined && { text }),
  ...(json !== undefined && { json }),
  ...(http !== undefined && { http }),
});

/**
 * A task's stream is `PREFIX/CONTAINER/TASK`:
 * https://docs.aws.amazon.com/AmazonECS/latest/developerguide/specify-log-config.html
 */
const ofService = (scope: LogScope, path: string, event: FilteredLogEvent): LogEntry => {
  const [revision = "", ...rest] = path.split("/");
  const instance = rest.at(-1);
  return {
    owner: scope.owner,
    service: scope.service,
    logName: SERVICE_LOG,
    ...readLine(event.message ?? "", SERVICE_LOG),
    revision,
    ...(instance !== undefined && { instance }),
    instant: (BigInt(event.timestamp ?? 0) * NANOS_PER_MILLI) as Instant,
    code: nameCode(event.eventId ?? ""),
  };
};

/** Converts an event to a log entry. Returns undefined if the event is not an entry of the deployment. */
export const logEntryOf = (scope: LogScope, event: FilteredLogEvent): LogEntry | undefined => {
  const prefix = streamPrefixOf(scope.owner, scope.service);
  const name = event.logStreamName ?? "";
  if (!name.startsWith(prefix)) return undefined;
  const path = name.slice(prefix.length);
  if (path !== PLATFORM_STREAM) return ofService(scope, path, event);
  const written = platformEventOf(event.message ?? "");
  return written === undefined ? undefined : ofPlatform(scope, written);
};

/** Returns an entry with the fields that all lines of a service share. */
export const serviceLine = ({ owner, service }: LogScope): LogEntry => ({
  owner,
  service,
  severity: "DEFAULT",
  logName: SERVICE_LOG,
  instant: 0n as Instant,
  code: "",
});
