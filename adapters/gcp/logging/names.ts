/** Where a deployment's entries stand in Cloud Logging. */
import type { LogName } from "../../../core/domain/log-entry.ts";

/**
 * The ids of the logs that are read, and whose words they have. Cloud Run writes the first four
 * (https://cloud.google.com/run/docs/logging), this platform the last one. No other log of a project is a deployment's.
 */
export const logIds: Readonly<Record<string, LogName>> = {
  "run.googleapis.com/stdout": "stdout",
  "run.googleapis.com/stderr": "stderr",
  "run.googleapis.com/requests": "requests",
  "run.googleapis.com/varlog/system": "platform",
  "portside/platform": "platform",
};

/** The log that the platform writes an entry to. */
const written: Readonly<Record<LogName, string>> = {
  stdout: "run.googleapis.com/stdout",
  stderr: "run.googleapis.com/stderr",
  requests: "run.googleapis.com/requests",
  platform: "portside/platform",
};

/** Ids are URL-encoded within a name (google/logging/v2/log_entry.proto). */
export const fullLogName = (project: string, id: string): string =>
  `projects/${project}/logs/${encodeURIComponent(id)}`;

export const writtenLogName = (project: string, name: LogName): string => fullLogName(project, written[name]);

/** Undefined for a log that is none of a deployment's. */
export const logNameOf = (full: string): LogName | undefined => {
  const id = decodeURIComponent(full.split("/logs/")[1] ?? "");
  return Object.hasOwn(logIds, id) ? logIds[id] : undefined;
};
