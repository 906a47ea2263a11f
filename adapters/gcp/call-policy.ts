/**
 * Retry policy and timeouts for calls to Google Cloud. `providerCall` does the retries, so the adapter turns off the
 * retries of Google's clients where their options permit it.
 */
import type { Unavailable } from "../../core/errors.ts";
import type { Clock, Ids, Logger } from "../../core/ports/system.ts";
import { err, ok, type Result } from "../../core/result.ts";
import {
  type CallState,
  type FaultOf,
  isCallState,
  type ProviderCall,
  providerCall,
} from "../cloud/calls/provider-call.ts";
import { googleFault } from "./errors.ts";

export interface GoogleRuntimeDeps {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Source of jitter for retry backoff; tests inject their own. */
  readonly random?: () => number;
}

/** Runtime dependencies of the provider: time, random ids, the operator's log and the environment. */
export interface GcpRuntimeDeps extends GoogleRuntimeDeps {
  readonly ids: Ids;
  /** Defaults to the process's environment; tests inject their own. */
  readonly environment?: NodeJS.ProcessEnv;
}

export const googleCalls = (runtime: GoogleRuntimeDeps, faultOf: FaultOf = googleFault): ProviderCall =>
  providerCall({ ...runtime, faultOf, cloud: "Google Cloud" });

/**
 * Options for a call of a generated client. They turn off the client's retries (`retry` in google-gax's CallOptions),
 * which ignore the caller's deadline and may take ten minutes.
 */
export const callOptions = (signal?: AbortSignal): { retry: null; signal?: AbortSignal } =>
  signal === undefined ? { retry: null } : { retry: null, signal };

/** For `orElse`: returns a value if the call failed with this state. */
export const onState =
  <T>(code: CallState["code"], value: T) =>
  (error: CallState | Unavailable): Result<T, CallState | Unavailable> =>
    isCallState(error) && error.code === code ? ok(value) : err(error);

/** The error's gRPC code (https://grpc.io/docs/guides/status-codes/) or HTTP status; undefined without a code. */
export const codeOf = (error: unknown): number | undefined => {
  const { code } = (error ?? {}) as { code?: unknown };
  return Number(code) || undefined;
};

export const grpcCodes = {
  INVALID_ARGUMENT: 3,
  NOT_FOUND: 5,
  PERMISSION_DENIED: 7,
  RESOURCE_EXHAUSTED: 8,
  FAILED_PRECONDITION: 9,
  UNAUTHENTICATED: 16,
} as const;

export interface RestRequest {
  readonly method: "GET" | "POST" | "PATCH" | "DELETE";
  readonly uri: string;
  readonly qs?: object;
  readonly json?: object;
}

interface RestClient {
  request(request: never, callback: (error: Error | null, body?: unknown) => void): void;
}

/** Sends a request for which the client's package has no method. */
export const sendRest = <T>(client: RestClient, request: RestRequest): Promise<T> =>
  new Promise((resolve, reject) => {
    client.request(request as never, (error, body) => (error ? reject(error) : resolve(body as T)));
  });

/** Timeout of one response, in milliseconds. */
const RESPONSE_TIMEOUT_MS = 60_000;

/**
 * Rejects with ETIMEDOUT if `work` takes longer than RESPONSE_TIMEOUT_MS. The packages of the REST clients ignore
 * `timeout` while a connection is silent.
 */
export const withTimeout = <T>(work: Promise<T>): Promise<T> => {
  const { promise: timeout, reject } = Promise.withResolvers<never>();
  const timedOut = Object.assign(new Error("Google Cloud did not respond in time."), { code: "ETIMEDOUT" });
  const timer = setTimeout(reject, RESPONSE_TIMEOUT_MS, timedOut);
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer));
};
