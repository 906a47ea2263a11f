/** The ingress's own responses: refusals, timeouts, broken instances. */
import type { ServerResponse } from "node:http";
import type { RouteRefusal } from "./service-route.ts";

export interface ErrorResponse {
  readonly status: number;
  readonly detail: string;
  readonly retryAfter?: number;
}

const NO_IMAGE: ErrorResponse = {
  status: 503,
  detail: "The image of this service is missing or damaged (image_not_found). Its owner must deploy it again.",
  retryAfter: 30,
};

export const responseToRefusal = (refusal: RouteRefusal): ErrorResponse => {
  switch (refusal.kind) {
    case "full":
      return { status: 503, detail: "Too many requests wait for this service; try again.", retryAfter: 1 };
    case "waited_too_long":
      return { status: 503, detail: "No instance of this service had room in time; try again.", retryAfter: 5 };
    case "did_not_start":
      if (refusal.failure.reason === "image_not_found") return NO_IMAGE;
      // Only the owner may read the details, in the log; a caller learns just that the service is down.
      return { status: 503, detail: `The service does not start (${refusal.failure.reason}).`, retryAfter: 5 };
    case "nothing_serves":
      return { status: 503, detail: "No revision of this service serves.", retryAfter: 30 };
    case "retired":
    case "client_gone":
      return { status: 499, detail: "The client went away." };
  }
};

export const TIMED_OUT: ErrorResponse = { status: 504, detail: "The service took longer than its timeout." };
export const BROKEN_CONNECTION: ErrorResponse = { status: 502, detail: "The service broke the connection." };
export const UNKNOWN_HOST: ErrorResponse = { status: 404, detail: "No service has this host name." };
export const BAD_HEADERS: ErrorResponse = { status: 400, detail: "The request's headers are not valid." };
export const BAD_TRANSFER_CODING: ErrorResponse = {
  status: 501,
  detail: "The only transfer coding known here is chunked.",
};
export const NO_UPGRADE: ErrorResponse = { status: 501, detail: "This request cannot change the protocol." };
export const BAD_TARGET: ErrorResponse = { status: 400, detail: "The request's target is not a path." };
export const NOT_HTTP2: ErrorResponse = {
  status: 505,
  detail: "This service speaks HTTP/1.1; deploy it with use_http2 to reach it over HTTP/2.",
};

export const errorBody = (answer: ErrorResponse): string => JSON.stringify({ detail: answer.detail });

/** Responds instead of the service. */
export const sendErrorResponse = (res: ServerResponse, answer: ErrorResponse, requestId: string): void => {
  const body = errorBody(answer);
  res.writeHead(answer.status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(body),
    "x-request-id": requestId,
    ...(answer.retryAfter === undefined ? {} : { "retry-after": String(answer.retryAfter) }),
  });
  res.end(body);
};
