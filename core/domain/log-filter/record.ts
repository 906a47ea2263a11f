/**
 * An entry as filters and SQL name its parts: the LogEntry of Cloud Logging, so that a filter means the same on every
 * provider. https://docs.cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry
 */
import { timestampOf, withNanoseconds } from "../instant.ts";
import type { JsonPayload, LogEntry } from "../log-entry.ts";

export interface LogRecord {
  readonly timestamp: string;
  readonly severity: string;
  readonly logName: string;
  readonly insertId: string;
  readonly textPayload?: string;
  readonly jsonPayload?: JsonPayload;
  readonly httpRequest?: JsonPayload;
  readonly resource: { readonly type: string; readonly labels: Readonly<Record<string, string>> };
  readonly labels: Readonly<Record<string, string>>;
  readonly trace?: string;
}

/** The resource of a Cloud Run service, on every provider. */
export const RESOURCE_TYPE = "cloud_run_revision";

/** The trace's part of a `traceparent`: https://www.w3.org/TR/trace-context/#traceparent-header */
const traceOf = (json: JsonPayload | undefined): string | undefined => {
  const parent = json?.["traceparent"];
  return typeof parent === "string" ? /^[0-9a-f]{2}-([0-9a-f]{32})-/.exec(parent)?.[1] : undefined;
};

export const recordOf = (entry: LogEntry): LogRecord => {
  const { instant, code, text, json, http, revision, instance } = entry;
  const trace = traceOf(json);
  return {
    timestamp: timestampOf(instant),
    severity: entry.severity,
    logName: entry.logName,
    insertId: `${withNanoseconds(instant)}-${code}`,
    ...(text === undefined ? {} : { textPayload: text }),
    ...(json === undefined ? {} : { jsonPayload: json }),
    ...(http === undefined ? {} : { httpRequest: { ...http } }),
    resource: {
      type: RESOURCE_TYPE,
      labels: {
        service_name: entry.service,
        ...(revision === undefined ? {} : { revision_name: revision }),
        ...(instance === undefined ? {} : { instance_id: instance }),
      },
    },
    labels: instance === undefined ? {} : { instanceId: instance },
    ...(trace === undefined ? {} : { trace }),
  };
};
