/**
 * The errors of use cases and ports, as a closed union.
 *
 * Errors are plain objects; discriminate on `kind`. `cause` is for logs only, and its contents must not reach a client.
 */
import type { Issue } from "./domain/wire/issue.ts";

/**
 * The meaning of each kind, and whether a retry may succeed. A test compares `docs/reference/errors.md` with this
 * table.
 */
export const errorKinds = {
  invalid_input: { retryable: false, meaning: "The request breaks one or more rules. The error lists all of them." },
  unauthenticated: { retryable: false, meaning: "The credential is missing, malformed, revoked or expired." },
  forbidden: {
    retryable: false,
    meaning: "The account does not own the resource, or the credential does not permit the request.",
  },
  not_found: { retryable: false, meaning: "The resource does not exist." },
  conflict: { retryable: false, meaning: "The current state of the resource does not permit the request." },
  rate_limited: { retryable: true, meaning: "A rate limit or a limit of concurrent requests was exceeded." },
  unsupported: { retryable: false, meaning: "The platform does not support the feature." },
  unavailable: { retryable: true, meaning: "The platform or a backing service is down or too busy." },
  internal: { retryable: false, meaning: "A bug in Portside, an adapter or a policy." },
} as const;

/** The kind of an error. The HTTP API maps each kind to one status. */
export type ErrorKind = keyof typeof errorKinds;

interface Described<K extends ErrorKind> {
  readonly kind: K;
  /** A sentence that states the problem and the fix. */
  readonly message: string;
}

/** The request breaks one or more rules (422). */
export interface InvalidInput extends Described<"invalid_input"> {
  readonly issues: readonly Issue[];
}

/** The credential is missing or invalid (401). */
export interface Unauthenticated extends Described<"unauthenticated"> {}

/** The account does not own the resource, or the credential does not permit the request (403). */
export interface Forbidden extends Described<"forbidden"> {}

/** The resource does not exist (404). */
export interface NotFound extends Described<"not_found"> {}

/** The state of the resource does not permit the request (409). */
export interface Conflict extends Described<"conflict"> {}

/** A rate limit or a limit of concurrent requests was exceeded (429). */
export interface RateLimited extends Described<"rate_limited"> {
  readonly retryAfterSeconds: number;
}

/** The platform does not support the feature (501). */
export interface Unsupported extends Described<"unsupported"> {}

/** The platform or a backing service is down or too busy (503). `cause` is for logs only. */
export interface Unavailable extends Described<"unavailable"> {
  readonly retryAfterSeconds: number;
  readonly cause?: unknown;
  /** The names of the failing services. They must be safe to publish, because `/ready` requires no credential. */
  readonly down?: readonly string[];
}

/** A bug in Portside, an adapter or a policy (500). `cause` is for logs only. */
export interface Internal extends Described<"internal"> {
  readonly cause?: unknown;
}

/**
 * Every error of the control plane. Switch on `kind`.
 *
 * @example
 * ```ts
 * const result = await controlPlane.deleteDeployment(principal, { name: "app" });
 * if (result.isErr() && result.error.kind === "not_found") return;
 * ```
 */
export type ControlPlaneError =
  | InvalidInput
  | Unauthenticated
  | Forbidden
  | NotFound
  | Conflict
  | RateLimited
  | Unsupported
  | Unavailable
  | Internal;

/** Creates an error from all issues of a request. An empty path means the request itself. */
export const invalidInput = (issues: readonly Issue[]): InvalidInput => ({
  kind: "invalid_input",
  message: issues.map(({ path, message }) => `${path.join(".") || "request"}: ${message}`).join("; "),
  issues,
});

/** Creates an `unauthenticated` error. */
export const unauthenticated = (message: string): Unauthenticated => ({ kind: "unauthenticated", message });
export const forbidden = (message: string): Forbidden => ({ kind: "forbidden", message });

/** Creates a `not_found` error. */
export const notFound = (message: string): NotFound => ({ kind: "not_found", message });

/** Creates a `conflict` error. */
export const conflict = (message: string): Conflict => ({ kind: "conflict", message });

/** Creates an `unsupported` error. The message should be the reason from the capability. */
export const unsupported = (message: string): Unsupported => ({ kind: "unsupported", message });

export const rateLimited = (message: string, retryAfterSeconds: number): RateLimited => ({
  kind: "rate_limited",
  message,
  retryAfterSeconds,
});

/**
 * Creates an `unavailable` error.
 *
 * @param message for clients; must not contain details of the provider
 * @param retryAfterSeconds the seconds after which a retry may succeed
 * @param cause the original error, for logs
 */
export const unavailable = (message: string, retryAfterSeconds = 5, cause?: unknown): Unavailable => ({
  kind: "unavailable",
  message,
  retryAfterSeconds,
  cause,
});

/** Creates an `internal` error. */
export const internal = (message: string, cause?: unknown): Internal => ({ kind: "internal", message, cause });
