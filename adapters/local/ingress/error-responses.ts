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
      return { status: 503, detail: "Too many requests are waiting for this service. Try again.", retryAfter: 1 };
    case "waited_too_long":
      return { status: 503, detail: "No instance of this service became free in time. Try again.", retryAfter: 5 };
    case "did_not_start":
      if (refusal.failure.reason === "image_not_found") return NO_IMAGE;
      // Only the owner may read the details, which are in the log.
      return { status: 503, detail: `The service does not start (${refusal.failure.reason}).`, retryAfter: 5 };
    case "nothing_serves":
      return { status: 503, detail: "This service has no revision that serves traffic.", retryAfter: 30 };
    case "retired":
    case "client_gone":
      return { status: 499, detail: "The client closed the connection." };
  }
};

export const TIMED_OUT: ErrorResponse = { status: 504, detail: "The service took longer than its timeout." };
export const BROKEN_CONNECTION: ErrorResponse = { status: 502, detail: "The service closed the connection." };
export const UNKNOWN_HOST: ErrorResponse = { status: 404, detail: "No service has this host name." };
export const BAD_HEADERS: ErrorResponse = { status: 400, detail: "The request's headers are invalid." };
export const BAD_TRANSFER_CODING: ErrorResponse = {
  status: 501,
  detail: "The only supported transfer coding is chunked.",
};
export const NO_UPGRADE: ErrorResponse = { status: 501, detail: "This request does not support a protocol upgrade." };
export const BAD_TARGET: ErrorResponse = { status: 400, detail: "The request's target is not a path." };
export const NOT_HTTP2: ErrorResponse = {
  status: 505,
  detail: "This service uses HTTP/1.1. Deploy it with use_http2 to reach it over HTTP/2.",
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
