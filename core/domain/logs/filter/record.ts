/**
 * The fields of an entry for filters and SQL. They match Cloud Logging's LogEntry, so that a filter has the same
 * meaning on every provider: https://docs.cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry
 */
import { timestampOf } from "../../wire/instant.ts";
import { type HttpRequestLog, insertIdOf, type JsonPayload, type LogEntry } from "../entry.ts";

/** An entry with the fields that filters and SQL statements use. */
export interface LogRecord {
  readonly timestamp: string;
  readonly severity: string;
  readonly logName: string;
  readonly insertId: string;
  readonly textPayload?: string | undefined;
  readonly jsonPayload?: JsonPayload | undefined;
  readonly httpRequest?: HttpRequestLog | undefined;
  readonly resource: { readonly type: string; readonly labels: Readonly<Record<string, string>> };
  readonly labels: Readonly<Record<string, string>>;
  readonly trace?: string | undefined;
}

/** The resource type of a Cloud Run service. All providers use it. */
export const RESOURCE_TYPE = "cloud_run_revision";

/** Returns the trace id of a `traceparent`: https://www.w3.org/TR/trace-context/#traceparent-header */
const traceOf = (json: JsonPayload | undefined): string | undefined => {
  const parent = json?.["traceparent"];
  return typeof parent === "string" ? /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(parent)?.[1] : undefined;
};

const labelled = (label: string, value: string | undefined): Readonly<Record<string, string>> =>
  value === undefined ? {} : { [label]: value };

/** Computes each part of a record separately, so that a search computes only the parts that its filter needs. */
const parts: { readonly [Name in keyof LogRecord]-?: (entry: LogEntry) => LogRecord[Name] } = {
  timestamp: ({ instant }) => timestampOf(instant),
  severity: ({ severity }) => severity,
  logName: ({ logName }) => logName,
  insertId: ({ instant, code }) => insertIdOf(timestampOf(instant), code),
  textPayload: ({ text }) => text,
  jsonPayload: ({ json }) => json,
  httpRequest: ({ http }) => http,
  resource: ({ service, revision, instance }) => ({
    type: RESOURCE_TYPE,
    labels: {
      service_name: service,
      ...labelled("revision_name", revision),
      ...labelled("instance_id", instance),
    },
  }),
  labels: ({ instance }) => labelled("instanceId", instance),
  trace: ({ json }) => traceOf(json),
};

/** Returns one part of an entry's record by name, or undefined if the entry does not have the part. */
export const partOf = (entry: LogEntry, name: string): unknown =>
  Object.hasOwn(parts, name) ? parts[name as keyof LogRecord](entry) : undefined;

/** Returns the record of an entry. */
export const recordOf = (entry: LogEntry): LogRecord =>
  Object.fromEntries(
    Object.entries(parts).flatMap(([name, part]) => {
      const value = part(entry);
      return value === undefined ? [] : [[name, value]];
    }),
  ) as unknown as LogRecord;
