/** Converts a served request between Cloud Logging's format (google/logging/type/http_request.proto) and the core's. */

import type { protos } from "@google-cloud/logging";
import type { HttpRequestLog } from "../../../core/domain/logs/entry.ts";
import { nanosOf } from "../../../core/domain/logs/filter/literals.ts";

export type ProtoHttpRequest = protos.google.logging.type.IHttpRequest;
type ProtoDuration = protos.google.protobuf.IDuration;

const NANOS = 1_000_000_000n;

/** Prints 0, 3, 6 or 9 fractional digits: https://protobuf.dev/reference/protobuf/google.protobuf/#duration */
const durationText = ({ seconds, nanos }: ProtoDuration): string => {
  const digits = String(nanos ?? 0).padStart(9, "0");
  const kept = /^(\d{3}|\d{6}|\d{9})(?:0{3})*$/.exec(digits.replace(/(?:000)+$/, "") || "000")?.[1] ?? digits;
  return `${seconds ?? 0}${Number(digits) === 0 ? "" : `.${kept}`}s`;
};

const durationOf = (text: string): ProtoDuration => {
  const nanos = nanosOf(text) ?? 0n;
  return { seconds: String(nanos / NANOS), nanos: Number(nanos % NANOS) };
};

export const protoHttpOf = ({ latency, ...http }: HttpRequestLog): ProtoHttpRequest => ({
  ...http,
  latency: durationOf(latency),
});

/** Zero sizes and empty strings count as unset: protobuf does not distinguish them. */
export const httpOf = (http: ProtoHttpRequest): HttpRequestLog => ({
  requestMethod: http.requestMethod ?? "",
  requestUrl: http.requestUrl ?? "",
  status: http.status ?? 0,
  ...(Number(http.requestSize ?? 0) === 0 ? {} : { requestSize: Number(http.requestSize) }),
  ...(Number(http.responseSize ?? 0) === 0 ? {} : { responseSize: Number(http.responseSize) }),
  ...(http.userAgent ? { userAgent: http.userAgent } : {}),
  ...(http.remoteIp ? { remoteIp: http.remoteIp } : {}),
  ...(http.protocol ? { protocol: http.protocol } : {}),
  latency: durationText(http.latency ?? {}),
});
