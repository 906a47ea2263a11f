/** Maps errors of the control plane to HTTP responses. */
import type { ControlPlaneError, ErrorKind } from "../../core/errors.ts";

/** The part of a request that contains its fields: the first element of an issue's `loc`. */
export type FieldLocation = "body" | "query" | "path" | "header";

export interface ErrorResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: { readonly detail: unknown };
}

/** The HTTP status of each error kind. A test compares `docs/reference/errors.md` with this table. */
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
  if (error.kind === "unauthenticated")
    return { "www-authenticate": 'Bearer realm="portside", ApiKey realm="portside"' };
  return "retryAfterSeconds" in error ? { "retry-after": String(error.retryAfterSeconds) } : {};
};

const detailOf = (error: ControlPlaneError, location: FieldLocation, requestId: string): unknown => {
  if (error.kind === "invalid_input")
    return error.issues.map(({ path, message, type }) => ({ loc: [location, ...path], msg: message, type }));
  return error.kind === "internal"
    ? `Internal error. Report it to the operator with the request id ${requestId}.`
    : error.message;
};

export const errorResponse = (error: ControlPlaneError, location: FieldLocation, requestId: string): ErrorResponse => ({
  status: statusOfKind[error.kind],
  headers: headersOf(error),
  body: { detail: detailOf(error, location, requestId) },
});
