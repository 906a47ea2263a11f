/** Converts a served request to an entry in its deployment's log. */

import type { ServiceTemplate } from "../../../core/domain/deploy/service-template.ts";
import type { NewLogEntry, Severity } from "../../../core/domain/logs/entry.ts";
import type { Scheme } from "./domain.ts";

export interface ServedRequest {
  readonly method: string;
  readonly scheme: Scheme;
  /** Path and query. */
  readonly target: string;
  readonly host: string;
  readonly status: number;
  readonly responseBytes: number;
  readonly userAgent: string | undefined;
  readonly remoteIp: string;
  readonly protocol: string;
  readonly requestId: string;
  readonly traceparent: string | undefined;
  readonly millis: number;
  readonly instance: string | undefined;
}

const severityOf = (status: number): Severity => (status >= 500 ? "ERROR" : status >= 400 ? "WARNING" : "INFO");

export const requestEntry = (
  template: Pick<ServiceTemplate, "owner" | "name">,
  revision: string | undefined,
  served: ServedRequest,
): NewLogEntry => ({
  owner: template.owner,
  service: template.name,
  severity: severityOf(served.status),
  logName: "requests",
  ...(revision === undefined ? {} : { revision }),
  ...(served.instance === undefined ? {} : { instance: served.instance }),
  json: {
    request_id: served.requestId,
    ...(served.traceparent === undefined ? {} : { traceparent: served.traceparent }),
  },
  http: {
    requestMethod: served.method,
    requestUrl: `${served.scheme}://${served.host}${served.target}`,
    status: served.status,
    responseSize: served.responseBytes,
    ...(served.userAgent === undefined ? {} : { userAgent: served.userAgent }),
    remoteIp: served.remoteIp,
    protocol: served.protocol,
    latency: `${(served.millis / 1000).toFixed(6)}s`,
  },
});
