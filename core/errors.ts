/**
 * All expected failures of use cases and ports, as a closed union.
 *
 * Discriminate on `kind`, never with `instanceof`: two copies of the library may be loaded at the same time.
 * `cause` is for logs only. Nothing in it may reach a client.
 */
import type { Issue } from "./domain/wire/issue.ts";

/** The meaning of each kind, and whether a retry may succeed. `docs/reference/errors.md` is tested against it. */
export const errorKinds = {
  invalid_input: { retryable: false, meaning: "The request breaks one or more rules. The error lists all of them." },
  unauthenticated: { retryable: false, meaning: "The credential is missing, malformed, revoked or expired." },
  forbidden: { retryable: false, meaning: "The caller's account does not own the resource." },
  not_found: { retryable: false, meaning: "The deployment, volume, object, key or deploy does not exist." },
  conflict: { retryable: false, meaning: "The current state of the resource does not permit the request." },
  rate_limited: { retryable: true, meaning: "The account sent too many requests." },
  unsupported: { retryable: false, meaning: "The platform's provider does not support it." },
  unavailable: { retryable: true, meaning: "A backing service is down or too busy." },
  internal: { retryable: false, meaning: "A bug in Portside or in an adapter." },
} as const;

export type ErrorKind = keyof typeof errorKinds;

interface Described<K extends ErrorKind> {
  readonly kind: K;
  /** A sentence for the caller: the problem and the fix. */
  readonly message: string;
}

export interface InvalidInput extends Described<"invalid_input"> {
  readonly issues: readonly Issue[];
}
export interface Unauthenticated extends Described<"unauthenticated"> {}
export interface Forbidden extends Described<"forbidden"> {}
export interface NotFound extends Described<"not_found"> {}
export interface Conflict extends Described<"conflict"> {}
export interface RateLimited extends Described<"rate_limited"> {
  readonly retryAfterSeconds: number;
}
export interface Unsupported extends Described<"unsupported"> {}
export interface Unavailable extends Described<"unavailable"> {
  readonly retryAfterSeconds: number;
  readonly cause?: unknown;
  /** The failing dependencies. Must be safe to publish: `/ready` needs no credential. */
  readonly down?: readonly string[];
}
export interface Internal extends Described<"internal"> {
  readonly cause?: unknown;
}

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

export const invalidInput = (issues: readonly Issue[]): InvalidInput => ({
  kind: "invalid_input",
  message: issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; "),
  issues,
});

export const unauthenticated = (message: string): Unauthenticated => ({ kind: "unauthenticated", message });
export const forbidden = (message: string): Forbidden => ({ kind: "forbidden", message });
export const notFound = (message: string): NotFound => ({ kind: "not_found", message });
export const conflict = (message: string): Conflict => ({ kind: "conflict", message });
export const unsupported = (message: string): Unsupported => ({ kind: "unsupported", message });

export const rateLimited = (message: string, retryAfterSeconds: number): RateLimited => ({
  kind: "rate_limited",
  message,
  retryAfterSeconds,
});

export const unavailable = (message: string, retryAfterSeconds = 5, cause?: unknown): Unavailable => ({
  kind: "unavailable",
  message,
  retryAfterSeconds,
  cause,
});

export const internal = (message: string, cause?: unknown): Internal => ({ kind: "internal", message, cause });
