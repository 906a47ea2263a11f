/** How every part of the adapter calls Google's clients: with one retry policy, and the clients' own retries off. */
import type { Clock, Ids, Logger } from "../../core/ports/system.ts";
import { type FaultOf, type ProviderCall, providerCall } from "../shared/calls/provider-call.ts";
import { googleFault } from "./errors.ts";

export interface GoogleRuntimeDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Source of jitter for retry backoff; tests inject their own. */
  readonly random?: () => number;
}

/** For parts that also generate names. */
export interface GcpRuntimeDeps extends GoogleRuntimeDeps {
  readonly ids: Ids;
  /** Defaults to the process's environment; tests inject their own. */
  readonly environment?: NodeJS.ProcessEnv;
}

export const googleCalls = (ambient: GoogleRuntimeDeps, faultOf: FaultOf = googleFault): ProviderCall =>
  providerCall({ ...ambient, faultOf, cloud: "Google Cloud" });

/**
 * Options for a call of a generated client. Its own retries are off (`retry` in google-gax's CallOptions): they would
 * ignore the caller's deadline, and some clients retry for ten minutes.
 */
export const callOptions = (signal?: AbortSignal): { retry: null; signal?: AbortSignal } =>
  signal === undefined ? { retry: null } : { retry: null, signal };

/** The error's gRPC code; undefined if it has none. https://grpc.io/docs/guides/status-codes/ */
export const codeOf = (error: unknown): number | undefined => {
  const { code } = (error ?? {}) as { code?: unknown };
  return typeof code === "number" ? code : undefined;
};

export const grpcCodes = {
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  UNAUTHENTICATED: 16,
} as const;

/** Timeout of one response, in milliseconds. */
const ANSWER_MS = 60_000;

/**
 * Rejects with ETIMEDOUT if `work` takes longer than ANSWER_MS. The REST clients' packages wait forever on a silent
 * connection, whatever `timeout` they are given.
 */
export const withTimeout = <T>(work: Promise<T>): Promise<T> => {
  const { promise: silence, reject } = Promise.withResolvers<never>();
  const silent = Object.assign(new Error("Google Cloud does not answer."), { code: "ETIMEDOUT" });
  const overdue = setTimeout(reject, ANSWER_MS, silent);
  return Promise.race([work, silence]).finally(() => clearTimeout(overdue));
};
