/**
 * Classifies errors of Google's clients by code: a gRPC code (https://grpc.io/docs/guides/status-codes/), or the HTTP
 * status for REST clients. https://cloud.google.com/apis/design/errors#error_model maps one to the other.
 */
import type { CallFault } from "../shared/calls/provider-call.ts";

/**
 * Common shape of both packages' errors: `headers` is fetch's `Headers` in GaxiosError, a plain object in
 * nodejs-common's ApiError.
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

const state = (code: Extract<CallFault, { kind: "state" }>["code"]): CallFault => ({ kind: "state", code });
const busy: CallFault = { kind: "busy" };
const refused: CallFault = { kind: "refused" };

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

/** A failed, cut or timed-out connection: https://nodejs.org/api/errors.html#common-system-errors, and gaxios' codes. */
const connectionErrors: ReadonlySet<string> = new Set([
  "AbortError",
  "TimeoutError",
  "ECONNABORTED",
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EPIPE",
  "ETIMEDOUT",
  "ERR_STREAM_PREMATURE_CLOSE",
]);

/** True if the client got no token: OAuth reports an error as a string, not an object (RFC 6749, section 5.2). */
const isCredentialError = ({ response }: GoogleFailure): boolean =>
  typeof (response?.data as { error?: unknown } | null | undefined)?.error === "string";

const retryAfterOf = ({ response }: GoogleFailure): number => {
  const headers = response?.headers;
  const value = headers instanceof Headers ? headers.get("retry-after") : headers?.["retry-after"];
  return Number(value ?? Number.NaN);
};

/** Undefined if the error is not Google's and therefore a bug. */
export const googleFault = (error: unknown): CallFault | undefined => {
  if (!isGoogleFailure(error)) return undefined;
  const code = Number(error.code);
  if (Number.isNaN(code)) return connectionErrors.has(String(error.code)) ? busy : undefined;
  if (code >= 400 && code < 500 && isCredentialError(error)) return refused;
  const fault = faults.get(code) ?? (code >= 500 ? busy : undefined);
  const seconds = retryAfterOf(error);
  return fault?.kind === "busy" && seconds > 0 ? { kind: "busy", retryAfterSeconds: Math.ceil(seconds) } : fault;
};
