/**
 * Converts a service's lines as Cloud Run does: https://cloud.google.com/run/docs/logging#writing_structured_logs. A
 * JSON object becomes `jsonPayload`, with its special fields moved to the entry; anything else becomes `textPayload`.
 */
import { structOf } from "../../../../adapters/gcp/logs/struct.ts";
import { severities } from "../../../../core/domain/logs/entry.ts";
import type { Message } from "../grpc.ts";

/** A line written by a service. */
export interface ServiceLine {
  readonly service: string;
  readonly revision: string;
  readonly instance: string;
  readonly stream: "stdout" | "stderr";
  readonly line: string;
  /** Labels of the revision's template; Cloud Run adds them to every line. */
  readonly labels: Readonly<Record<string, string>>;
}

/** A request served by Cloud Run: https://cloud.google.com/run/docs/logging#log-types */
export interface ServedRequest {
  readonly service: string;
  readonly revision: string;
  readonly instance: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly method: string;
  readonly url: string;
  readonly status: number;
  readonly latencySeconds: number;
}

interface Origin {
  readonly project: string;
  readonly region: string;
}

const originOf = ({ project, region }: Origin, from: ServiceLine | ServedRequest) => ({
  resource: {
    type: "cloud_run_revision",
    labels: {
      project_id: project,
      location: region,
      service_name: from.service,
      configuration_name: from.service,
      revision_name: from.revision,
    },
  },
  labels: { ...from.labels, instanceId: from.instance },
  timestamp: null,
  insertId: "",
  trace: "",
  httpRequest: null,
});

const objectOf = (line: string): Record<string, unknown> | undefined => {
  try {
    const json: unknown = JSON.parse(line);
    return typeof json === "object" && json !== null && !Array.isArray(json)
      ? (json as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
};

/** Adds to each Struct value the name of the member that is set, as a client receives it. */
const received = (struct: Message): Message => ({
  fields: Object.fromEntries(Object.entries(struct.fields ?? {}).map(([key, one]) => [key, receivedValue(one)])),
});
const receivedValue = (value: Message): Message => {
  const [kind = "nullValue"] = Object.keys(value);
  if (kind === "structValue") return { structValue: received(value.structValue), kind };
  if (kind === "listValue") return { listValue: { values: value.listValue.values.map(receivedValue) }, kind };
  return { ...value, kind };
};

const payloadOf = (line: string): Message => {
  const json = objectOf(line);
  if (json === undefined) return { severity: "DEFAULT", payload: "textPayload", textPayload: line };
  const { severity, ...rest } = json;
  const word = String(severity ?? "").toUpperCase();
  const isKnown = Object.hasOwn(severities, word);
  return {
    severity: isKnown ? word : "DEFAULT",
    payload: "jsonPayload",
    jsonPayload: received(structOf(isKnown ? rest : json)),
  };
};

export const messageOfLine = (origin: Origin, line: ServiceLine): Message => ({
  ...originOf(origin, line),
  logName: `projects/${origin.project}/logs/run.googleapis.com%2F${line.stream}`,
  ...payloadOf(line.line),
});

/** Cloud Run's own message about a revision: https://cloud.google.com/run/docs/logging#log-types */
export const messageOfSystem = (origin: Origin, line: Omit<ServiceLine, "stream">): Message => ({
  ...originOf(origin, { ...line, stream: "stdout" }),
  logName: `projects/${origin.project}/logs/run.googleapis.com%2Fvarlog%2Fsystem`,
  severity: "WARNING",
  payload: "textPayload",
  textPayload: line.line,
});

export const messageOfRequest = (origin: Origin, served: ServedRequest): Message => ({
  ...originOf(origin, served),
  logName: `projects/${origin.project}/logs/run.googleapis.com%2Frequests`,
  severity: served.status >= 500 ? "ERROR" : served.status >= 400 ? "WARNING" : "INFO",
  httpRequest: {
    requestMethod: served.method,
    requestUrl: served.url,
    requestSize: "0",
    status: served.status,
    responseSize: "0",
    userAgent: "",
    remoteIp: "",
    serverIp: "",
    referer: "",
    protocol: "HTTP/1.1",
    latency: {
      seconds: String(Math.floor(served.latencySeconds)),
      nanos: Math.round((served.latencySeconds % 1) * 1e9),
    },
  },
});
