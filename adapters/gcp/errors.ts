/**
 * Classifies errors of Google's clients by their gRPC code (https://grpc.io/docs/guides/status-codes/), or by their HTTP
 * status for REST clients. https://cloud.google.com/apis/design/errors#error_model maps the codes to statuses.
 */
import {
  busy,
  type CallFault,
  connectionErrors,
  refused,
  stateFault as state,
  withRetryAfter,
} from "../cloud/calls/faults.ts";

/**
 * The common fields of GaxiosError and of nodejs-common's ApiError. `headers` is fetch's `Headers` in GaxiosError, and
 * a plain object in ApiError.
 */
interface GoogleFailure {
  readonly code: number | string;
  readonly response?: {
    readonly headers?: Headers | Readonly<Record<string, string>>;
    readonly data?: unknown;
  };
}

const isGoogleFailure = (error: unknown): error is GoogleFailure => {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  return typeof code === "number" || typeof code === "string";
};

/** gRPC codes are below 17, HTTP statuses above 100. */
const faults: ReadonlyMap<number, CallFault> = new Map([
  [1, busy], // CANCELLED, by the server
  [2, busy], // UNKNOWN: includes grpc-js's failure to fetch a token
  [3, state("invalid")], // INVALID_ARGUMENT
  [4, busy], // DEADLINE_EXCEEDED
  [5, state("not_found")], // NOT_FOUND
  [6, state("exists")], // ALREADY_EXISTS
  [7, refused], // PERMISSION_DENIED
  [8, busy], // RESOURCE_EXHAUSTED
  [9, state("changed")], // FAILED_PRECONDITION
  [10, state("changed")], // ABORTED: a stale etag
  [13, busy], // INTERNAL
  [14, busy], // UNAVAILABLE
  [16, refused], // UNAUTHENTICATED
  [400, state("invalid")],
  [401, refused],
  [403, refused],
  [404, state("not_found")],
  [408, busy],
  [409, state("exists")],
  [412, state("changed")],
  [429, busy],
]);

/** Error codes of aborted, timed-out and broken requests in fetch and gaxios. */
const requestErrors: readonly string[] = ["AbortError", "TimeoutError", "ECONNABORTED", "ERR_STREAM_PREMATURE_CLOSE"];

/** True if the client received no token. OAuth errors are strings instead of objects (RFC 6749, section 5.2). */
const isCredentialError = ({ response }: GoogleFailure): boolean =>
  typeof (response?.data as { error?: unknown } | null | undefined)?.error === "string";

const retryAfterOf = ({ response }: GoogleFailure): string | null | undefined => {
  const headers = response?.headers;
  return headers instanceof Headers ? headers.get("retry-after") : headers?.["retry-after"];
};

/** Returns undefined if the error is not a known error of Google's clients, and therefore a bug. */
export const googleFault = (error: unknown): CallFault | undefined => {
  if (!isGoogleFailure(error)) return undefined;
  const code = Number(error.code);
  if (Number.isNaN(code))
    return [...connectionErrors, ...requestErrors].includes(String(error.code)) ? busy : undefined;
  if (code >= 400 && code < 500 && isCredentialError(error)) return refused;
  const fault = faults.get(code) ?? (code >= 500 ? busy : undefined);
  return withRetryAfter(fault, retryAfterOf(error));
};
