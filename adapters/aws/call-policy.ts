/** The retry policy of every AWS call. The SDK clients' own retries are off. */
import type { Clock, Ids, Logger } from "../../core/ports/system.ts";
import { type FaultOf, type ProviderCall, providerCall } from "../shared/calls/provider-call.ts";
import { awsFault } from "./errors.ts";

export interface AwsRuntimeDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Jitter of the retry backoff; tests pass their own. */
  readonly random?: () => number;
  /** Defaults to the process's environment; tests pass their own. */
  readonly environment?: NodeJS.ProcessEnv;
}

/** @param faultOf overrides `awsFault` for services that use an error code with another meaning */
export const awsCalls = (runtime: AwsRuntimeDeps, faultOf: FaultOf = awsFault): ProviderCall =>
  providerCall({ ...runtime, faultOf, cloud: "Amazon Web Services" });

/** The exception's name in the service's model; undefined if the value is not an error. */
export const nameOf = (error: unknown): string | undefined => (error instanceof Error ? error.name : undefined);
