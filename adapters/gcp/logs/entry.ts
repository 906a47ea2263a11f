/**
 * Converts log entries between Cloud Logging's format and the core's.
 * https://cloud.google.com/logging/docs/reference/v2/rest/v2/LogEntry
 */

import type { protos } from "@google-cloud/logging";
import { nameCode } from "../../../core/domain/logs/cursor.ts";
import { type LogEntry, type NewLogEntry, type Severity, severities } from "../../../core/domain/logs/entry.ts";
import { RESOURCE_TYPE } from "../../../core/domain/logs/filter/record.ts";
import { severityOf } from "../../../core/domain/logs/line.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { LogScope } from "../../../core/ports/log-store.ts";
import { OWNER_LABEL, SERVICE_LABEL } from "../../cloud/deploy/labels.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import type { GcpLocation } from "../location.ts";
import { httpOf, protoHttpOf } from "./http.ts";
import { logNameOf, writtenLogName } from "./names.ts";
import { isTooDeep, type ProtoStruct, payloadOf, structOf } from "./struct.ts";

type ProtoFields = "logName" | "resource" | "labels" | "severity" | "insertId" | "textPayload" | "httpRequest";

/** An entry as the client package returns it; `payload` names the payload field that is set. */
export interface ProtoEntry extends Pick<protos.google.logging.v2.ILogEntry, ProtoFields> {
  readonly timestamp?: { readonly seconds?: string | number | null; readonly nanos?: number | null } | null;
  readonly jsonPayload?: ProtoStruct | null;
  readonly payload?: string;
}

/**
 * Marks entries that the platform wrote. Their severity is final: the adapter does not infer a different one from the
 * line, even for DEFAULT.
 */
export const WRITTEN_LABEL = "portside-written";

/** The label in which Cloud Run names the instance that wrote a line. */
export const INSTANCE_LABEL = "instanceId";

const NANOS = 1_000_000_000n;

/** Position of an entry that the platform writes: its time and its id. */
export interface WritePosition {
  readonly instant: Instant;
  readonly insertId: string;
}

const labelOf = (label: string, value: string | undefined): Readonly<Record<string, string>> =>
  value === undefined ? {} : { [label]: value };

/** An entry has one payload. JSON that nests too deeply for a protobuf structure becomes text. */
const payloadFor = ({ text, json }: NewLogEntry): Pick<ProtoEntry, "textPayload" | "jsonPayload"> => {
  if (text !== undefined) return { textPayload: text };
  if (json === undefined) return {};
  return isTooDeep(json) ? { textPayload: JSON.stringify(json) } : { jsonPayload: structOf(json) };
};

export const protoEntryOf = (
  { project, region }: GcpLocation,
  entry: NewLogEntry,
  position: WritePosition,
): ProtoEntry => ({
  logName: writtenLogName(project, entry.logName),
  resource: {
    type: RESOURCE_TYPE,
    labels: {
      project_id: project,
      location: region,
      service_name: entry.service,
      configuration_name: entry.service,
      ...labelOf("revision_name", entry.revision),
    },
  },
  labels: {
    [OWNER_LABEL]: accountDigest(entry.owner),
    [SERVICE_LABEL]: entry.service,
    [WRITTEN_LABEL]: "true",
    ...labelOf(INSTANCE_LABEL, entry.instance),
  },
  timestamp: { seconds: String(position.instant / NANOS), nanos: Number(position.instant % NANOS) },
  insertId: position.insertId,
  severity: entry.severity,
  ...payloadFor(entry),
  ...(entry.http === undefined ? {} : { httpRequest: protoHttpOf(entry.http) }),
});

const isSeverity = (word: unknown): word is Severity => typeof word === "string" && Object.hasOwn(severities, word);

/**
 * Cloud Run reads a severity only from a field named `severity`. Like every provider, this adapter also reads the
 * fields of common loggers (`core/domain/logs/line.ts`).
 */
const severityFor = ({ severity, labels, payload }: ProtoEntry, logName: string, json: LogEntry["json"]): Severity => {
  if (isSeverity(severity) && severity !== "DEFAULT") return severity;
  const isService = (logName === "stdout" || logName === "stderr") && labels?.[WRITTEN_LABEL] === undefined;
  if (!isService) return "DEFAULT";
  const logged = json === undefined ? undefined : severityOf(json);
  return logged ?? (logName === "stderr" && payload !== undefined ? "ERROR" : "DEFAULT");
};

/** Converts an entry of a deployment's log to the core's format. Returns undefined for entries of other logs. */
export const logEntryOf = (scope: LogScope, entry: ProtoEntry): LogEntry | undefined => {
  const logName = logNameOf(entry.logName ?? "");
  if (logName === undefined) return undefined;
  const { seconds, nanos } = entry.timestamp ?? {};
  const json = entry.payload === "jsonPayload" ? payloadOf(entry.jsonPayload ?? {}) : undefined;
  const revision = entry.resource?.labels?.["revision_name"];
  const instance = entry.labels?.[INSTANCE_LABEL];
  return {
    owner: scope.owner,
    service: scope.service,
    severity: severityFor(entry, logName, json),
    logName,
    ...(revision ? { revision } : {}),
    ...(instance ? { instance } : {}),
    ...(entry.payload === "textPayload" ? { text: entry.textPayload ?? "" } : {}),
    ...(json === undefined ? {} : { json }),
    ...(entry.httpRequest ? { http: httpOf(entry.httpRequest) } : {}),
    instant: (BigInt(seconds ?? 0) * NANOS + BigInt(nanos ?? 0)) as Instant,
    code: nameCode(entry.insertId ?? ""),
  };
};
