/** The logs in Cloud Logging that contain a deployment's entries. */
import type { LogName } from "../../../core/domain/logs/entry.ts";

/**
 * IDs of the logs to read, with the core's log names. Cloud Run writes the first four
 * (https://cloud.google.com/run/docs/logging), and the platform writes the last one. The adapter ignores all other logs
 * of the project.
 */
export const logIds: Readonly<Record<string, LogName>> = {
  "run.googleapis.com/stdout": "stdout",
  "run.googleapis.com/stderr": "stderr",
  "run.googleapis.com/requests": "requests",
  "run.googleapis.com/varlog/system": "platform",
  "portside/platform": "platform",
};

/** ID of the log that receives new entries, by log name. Portside itself writes only `platform` entries. */
const written: Readonly<Record<LogName, string>> = {
  stdout: "run.googleapis.com/stdout",
  stderr: "run.googleapis.com/stderr",
  requests: "run.googleapis.com/requests",
  platform: "portside/platform",
};

/** IDs are URL-encoded within a name (google/logging/v2/log_entry.proto). */
export const fullLogName = (project: string, id: string): string =>
  `projects/${project}/logs/${encodeURIComponent(id)}`;

export const writtenLogName = (project: string, name: LogName): string => fullLogName(project, written[name]);

/** Returns undefined if the log contains no entries of deployments. */
export const logNameOf = (full: string): LogName | undefined => {
  const id = decodeURIComponent(full.split("/logs/")[1] ?? "");
  return Object.hasOwn(logIds, id) ? logIds[id] : undefined;
};
