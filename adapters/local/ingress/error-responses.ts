/** The error responses that the ingress sends, such as for a full queue, a timeout or a broken connection. */
import type { ServerResponse } from "node:http";
import type { RouteRefusal } from "./service-route.ts";

export interface ErrorResponse {
  readonly status: number;
  readonly detail: string;
  readonly retryAfter?: number;
}

const unavailable = (detail: string, retryAfter: number): ErrorResponse => ({ status: 503, detail, retryAfter });
const CLIENT_GONE: ErrorResponse = { status: 499, detail: "The client closed the connection." };

const refusals: Readonly<Record<Exclude<RouteRefusal["kind"], "did_not_start">, ErrorResponse>> = {
  full: unavailable("Too many requests are waiting for this service. Try again.", 1),
  waited_too_long: unavailable("No instance of this service became free in time. Try again.", 5),
  nothing_serves: unavailable("This service has no revision that serves traffic.", 30),
  retired: CLIENT_GONE,
  client_gone: CLIENT_GONE,
};

export const responseToRefusal = (refusal: RouteRefusal): ErrorResponse => {
  if (refusal.kind !== "did_not_start") return refusals[refusal.kind];
  const { reason } = refusal.failure;
  // The details are in the log, which only the owner may read.
  if (reason !== "image_not_found") return unavailable(`The service does not start (${reason}).`, 5);
  const noImage = "The image of this service is missing or damaged (image_not_found). Its owner must deploy it again.";
  return unavailable(noImage, 30);
};

export const TIMED_OUT: ErrorResponse = { status: 504, detail: "The service took longer than its timeout." };
/** The service refused or closed the connection, or sent an invalid response. */
export const BROKEN_CONNECTION: ErrorResponse = { status: 502, detail: "The service sent no valid response." };
export const UNKNOWN_HOST: ErrorResponse = { status: 404, detail: "No service has this host name." };
export const BAD_HEADERS: ErrorResponse = { status: 400, detail: "The request's headers are invalid." };
export const BAD_TRANSFER_CODING: ErrorResponse = {
  status: 501,
  detail: "The only supported transfer coding is chunked.",
};
export const NO_UPGRADE: ErrorResponse = {
  status: 501,
  detail: "This request cannot be upgraded to another protocol.",
};
export const BAD_TARGET: ErrorResponse = { status: 400, detail: "The request's target is not a path." };
export const MISDIRECTED: ErrorResponse = {
  status: 421,
  detail: "This connection does not serve the host name. Open another connection for it.",
};
export const NO_CERTIFICATE: ErrorResponse = { status: 404, detail: "This host name has no certificate." };
export const NOT_HTTP2: ErrorResponse = {
  status: 505,
  detail: "This service uses HTTP/1.1. Deploy it with use_http2 to reach it over HTTP/2.",
};

export const errorBody = (answer: ErrorResponse): string => JSON.stringify({ detail: answer.detail });

export const errorHeaders = ({ retryAfter }: ErrorResponse, requestId: string): Record<string, string> => ({
  "content-type": "application/json",
  "x-request-id": requestId,
  ...(retryAfter === undefined ? {} : { "retry-after": String(retryAfter) }),
});

/** Sends the response on behalf of the service. */
export const sendErrorResponse = (res: ServerResponse, answer: ErrorResponse, requestId: string): void => {
  const body = errorBody(answer);
  res.writeHead(answer.status, { ...errorHeaders(answer, requestId), "content-length": Buffer.byteLength(body) });
  res.end(body);
};
