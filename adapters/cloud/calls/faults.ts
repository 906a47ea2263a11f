/** The categories of cloud errors. Each adapter maps the errors of its cloud to them. */

/** The meaning of a cloud error for the caller. */
export type CallFault =
  /** Throttled, or the service is down. The same call may succeed soon. */
  | { readonly kind: "busy"; readonly retryAfterSeconds?: number }
  /** The platform's credentials or permissions are insufficient. An operator must act. */
  | { readonly kind: "refused" }
  /** A state of the resource that the caller handles: missing, already existing, changed concurrently, or invalid. */
  | { readonly kind: "state"; readonly code: "not_found" | "exists" | "changed" | "invalid" };

export const stateFault = (code: Extract<CallFault, { kind: "state" }>["code"]): CallFault => ({ kind: "state", code });
export const busy: CallFault = { kind: "busy" };
export const refused: CallFault = { kind: "refused" };

/** Error codes of failed or broken connections: https://nodejs.org/api/errors.html#common-system-errors */
export const connectionErrors: readonly string[] = [
  "ECONNREFUSED",
  "ECONNRESET",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EPIPE",
  "ETIMEDOUT",
];

/** Adds the header `Retry-After` to a `busy` fault. Ignores a header that is not a number of seconds. */
export const withRetryAfter = (
  fault: CallFault | undefined,
  header: string | null | undefined,
): CallFault | undefined => {
  const seconds = Number(header ?? Number.NaN);
  return fault?.kind === "busy" && seconds > 0 ? { kind: "busy", retryAfterSeconds: Math.ceil(seconds) } : fault;
};
