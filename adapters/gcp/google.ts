/** What every part of the adapter calls Google's clients with: one policy of repeats, and none of theirs. */
import type { Clock, Ids, Logger } from "../../core/ports/system.ts";
import { type FaultOf, type ProviderCall, providerCall } from "../shared/provider-call.ts";
import { googleFault } from "./errors.ts";

export interface GoogleAmbient {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Of the pauses between repeats; a test gives its own. */
  readonly random?: () => number;
}

/** For parts that make names of their own, too. */
export interface GcpAmbient extends GoogleAmbient {
  readonly ids: Ids;
  /** Of the process; a test gives its own. */
  readonly environment?: NodeJS.ProcessEnv;
}

export const googleCalls = (ambient: GoogleAmbient, faultOf: FaultOf = googleFault): ProviderCall =>
  providerCall({ ...ambient, faultOf, cloud: "Google Cloud" });

/**
 * Options of a generated client's call. Its own repeats are off (`retry` of google-gax's CallOptions): they would hide
 * from the deadline of whoever calls, and some clients go on for ten minutes.
 */
export const callOptions = (signal?: AbortSignal): { retry: null; signal?: AbortSignal } =>
  signal === undefined ? { retry: null } : { retry: null, signal };

/** gRPC's code of an error; undefined where it has none. https://grpc.io/docs/guides/status-codes/ */
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

/** Of one answer, in milliseconds. */
const ANSWER_MS = 60_000;

/**
 * The answer, or an outage: the REST clients' packages wait for ever where a connection is silent, whatever `timeout` they
 * are given.
 */
export const inTime = <T>(work: Promise<T>): Promise<T> => {
  const { promise: silence, reject } = Promise.withResolvers<never>();
  const silent = Object.assign(new Error("Google Cloud does not answer."), { code: "ETIMEDOUT" });
  const overdue = setTimeout(reject, ANSWER_MS, silent);
  return Promise.race([work, silence]).finally(() => clearTimeout(overdue));
};
