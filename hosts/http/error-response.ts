/** A refusal of the control plane as a response. */
import type { ControlPlaneError, ErrorKind } from "../../core/errors.ts";

/** Where an endpoint's fields are; it goes in front of an issue's path. */
export type Place = "body" | "query" | "path" | "header";

export interface ErrorResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly detail: unknown };
}

/** Each kind's status; `docs/reference/errors.md` is tested against it. */
export const statusOfKind: Readonly<Record<ErrorKind, number>> = {
  invalid_input: 422,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  conflict: 409,
  rate_limited: 429,
  unsupported: 501,
  unavailable: 503,
  internal: 500,
};

const headersOf = (error: ControlPlaneError): Record<string, string> => {
  switch (error.kind) {
    case "unauthenticated":
      return { "www-authenticate": 'Bearer realm="portside", ApiKey realm="portside"' };
    case "rate_limited":
    case "unavailable":
      return { "retry-after": String(error.retryAfterSeconds) };
    default:
      return {};
  }
};

const detailOf = (error: ControlPlaneError, place: Place, requestId: string): unknown => {
  switch (error.kind) {
    case "invalid_input":
      return error.issues.map(({ path, message, type }) => ({ loc: [place, ...path], msg: message, type }));
    case "internal":
      return `Internal error; the request's id is ${requestId}.`;
    default:
      return error.message;
  }
};

export const errorResponse = (error: ControlPlaneError, place: Place, requestId: string): ErrorResponse => ({
  status: statusOfKind[error.kind],
  headers: headersOf(error),
  body: { detail: detailOf(error, place, requestId) },
});
