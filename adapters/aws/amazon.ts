/** What every part of the adapter calls Amazon's clients with: one policy of repeats, and none of theirs. */
import type { Clock, Ids, Logger } from "../../core/ports/system.ts";
import { type FaultOf, type ProviderCall, providerCall } from "../shared/provider-call.ts";
import { awsFault } from "./errors.ts";

export interface AwsAmbient {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Of the pauses between repeats; a test gives its own. */
  readonly random?: () => number;
  /** Of the process; a test gives its own. */
  readonly environment?: NodeJS.ProcessEnv;
}

/** @param faultOf where a service gives a code a meaning of its own; `awsFault` says the rest */
export const awsCalls = (ambient: AwsAmbient, faultOf: FaultOf = awsFault): ProviderCall =>
  providerCall({ ...ambient, faultOf, cloud: "Amazon Web Services" });

/** The exception's name in the service's model; undefined where it is no error. */
export const nameOf = (error: unknown): string | undefined => (error instanceof Error ? error.name : undefined);
