/**
 * Sends AWS calls and retries them. The SDK clients' own retries are off. `errors.ts` turns AWS errors into Portside's
 * error kinds, which decide whether a call is retried.
 */
import type { Unavailable } from "../../core/errors.ts";
import type { Clock, Ids, Logger } from "../../core/ports/system.ts";
import { err, ok, type Result, ResultAsync } from "../../core/result.ts";
import {
  type CallNeeds,
  type CallState,
  type FaultOf,
  isCallState,
  type ProviderCall,
  providerCall,
} from "../cloud/calls/provider-call.ts";
import {
  type AwsClients,
  type ClientSource,
  type CommandName,
  type InputOf,
  type OutputOf,
  sendCommand,
} from "./clients.ts";
import { awsFault } from "./errors.ts";

/** The dependencies that the host process passes to the AWS provider. */
export interface AwsRuntimeDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
  /** Returns a number in [0, 1), for the jitter of retries. Tests pass their own. */
  readonly random?: () => number;
  /** Defaults to the process's environment; tests pass their own. */
  readonly environment?: NodeJS.ProcessEnv;
}

/**
 * Returns a function that calls AWS with retries.
 *
 * @param faultOf replaces `awsFault` for services that give an error code a different meaning
 */
export const awsCalls = (runtime: AwsRuntimeDeps, faultOf: FaultOf = awsFault): ProviderCall =>
  providerCall({ ...runtime, faultOf, cloud: "Amazon Web Services" });

/** The result of a call to AWS. */
export type Called<T> = ResultAsync<T, CallState | Unavailable>;

/** The time limits of a call's retries, and the call's abort signal. */
export type RetryOptions = Omit<CallNeeds, "what">;

/**
 * Returns a function that sends commands of one client and retries them.
 *
 * @param service the service's name in logs and for rate limits
 * @param abortRequests whether a command's signal aborts the running request; if false, it only stops the retries
 */
export const commandSender =
  <K extends keyof AwsClients>(
    name: K,
    service: string,
    clients: ClientSource,
    call: ProviderCall,
    { abortRequests = true }: { readonly abortRequests?: boolean } = {},
  ) =>
  <C extends CommandName<K>>(command: C, input: InputOf<K, C>, retry: RetryOptions = {}): Called<OutputOf<K, C>> =>
    new ResultAsync(
      call({ what: `${service}.${command.slice(0, -"Command".length)}`, ...retry }, () =>
        sendCommand(clients, name, command, input, abortRequests ? retry.signal : undefined),
      ),
    );

/** Sends commands of one client. */
export type CommandSender<K extends keyof AwsClients> = ReturnType<typeof commandSender<K>>;

/** For `orElse`: converts `not_found` to success. */
export const missingAsOk = (error: CallState | Unavailable): Result<undefined, CallState | Unavailable> =>
  isCallState(error) && error.code === "not_found" ? ok(undefined) : err(error);

/** For `mapErr` of calls that must not fail with a `CallState`. Such a state is a bug, so its error is thrown. */
export const throwState = (error: CallState | Unavailable): Unavailable => {
  if (isCallState(error)) throw error.error;
  return error;
};

/** Returns whether the call failed with one of these states. */
export const isState = (
  result: Result<unknown, CallState | Unavailable>,
  ...codes: readonly CallState["code"][]
): boolean => result.isErr() && isCallState(result.error) && codes.includes(result.error.code);

/** Returns the name of an AWS exception, such as `NoSuchKey`. Returns undefined if the value is not an error. */
export const nameOf = (error: unknown): string | undefined => (error instanceof Error ? error.name : undefined);

/** Formats an error as its message and name. */
export const problemOf = (error: unknown): string => {
  const { message } = error as { message?: string };
  return `${message ?? String(error)} (${nameOf(error) ?? "no error"})`;
};
