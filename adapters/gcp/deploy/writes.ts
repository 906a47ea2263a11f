/**
 * Conditional writes. The port's etag contains the id of a rollout's last write, which an annotation stores. Cloud
 * Run's own etag is unsuitable, because it also changes with the status of a deploy. A write reads the service,
 * compares the port's etag, and writes with Cloud Run's etag from the same read. If Cloud Run reports a change since
 * the read, the write starts over. The comparison then succeeds if only the status of a deploy has changed, and fails
 * otherwise.
 *
 * If the response to a write was lost, the next read finds the write's id, and the write is not repeated.
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { Expected } from "../../../core/domain/deploy/plan.ts";
import type { DeployFailure } from "../../../core/domain/deploy/reason.ts";
import { type Present, writeConflict } from "../../../core/domain/volumes/write-condition.ts";
import type { DeploymentName } from "../../../core/domain/wire/names.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import { err, ok, type Result, type ResultAsync } from "../../../core/result.ts";
import { type CallState, isCallState } from "../../cloud/calls/provider-call.ts";
import { NOBODY } from "../../shared/accounts/account-digest.ts";
import { codeOf, grpcCodes } from "../call-policy.ts";
import { failureOfQuota, failureOfUnavailable } from "../failures.ts";
import { etagOf, type OwnService, parseOwn, type RunningNote } from "./parse.ts";
import type { RunService } from "./render.ts";
import type { RetryOptions, RunServices } from "./services.ts";

export interface CurrentState {
  /** Null if the name is free. */
  readonly run: RunService | null;
  /** Undefined if the name is free, or Portside does not own the service. */
  readonly own: OwnService | undefined;
}

export interface Change {
  readonly service: RunService;
  readonly mask: readonly string[];
}

/** The error if every attempt of a write collided with another write of the service, or a deletion takes too long. */
export const cloudRunBusy = (cause?: unknown): Unavailable =>
  unavailable("Cloud Run is busy with this service. Try again.", 5, cause);

export interface WriteDeps {
  readonly services: RunServices;
  readonly region: string;
  /** The status of this process's running deploys. */
  readonly running: Map<DeploymentName, RunningNote>;
  readonly clock: Clock;
  readonly logger: Logger;
}

export const readState = (
  { services, region, running, clock }: WriteDeps,
  name: DeploymentName,
  retry: RetryOptions = {},
): ResultAsync<CurrentState, Unavailable> =>
  services
    .get(name, retry)
    .map((run) => ({ run, own: run === null ? undefined : parseOwn(run, { region, running, now: clock.now() }) }));

export const presentOf = ({ run, own }: CurrentState): Present => {
  if (run === null) return { kind: "free" };
  if (own === undefined) return { kind: "reserved", owner: NOBODY };
  return { kind: "held", owner: own.service.owner, etag: own.service.etag };
};

/** Each attempt may collide with the write of a status. This many collisions in a row indicate a different problem. */
const TRIES = 20;
const PAUSE_MS = 50;

const refused = (logger: Logger, name: DeploymentName, error: unknown): DeployFailure => {
  const quota = failureOfQuota(error instanceof Error ? error.message : String(error));
  if (quota !== undefined) return quota;
  logger.error("Cloud Run rejected a service", { name, error });
  return {
    reason: codeOf(error) === grpcCodes.FAILED_PRECONDITION ? "permission" : "internal",
    message: "Cloud Run rejected the declaration. The operator can find the reason in the server's log.",
  };
};

const causeOf = (failed: CallState | Unavailable): unknown => (isCallState(failed) ? failed.error : failed.cause);

/** Returns undefined if the write collided with another one and may be repeated. */
const finalFailure = (
  logger: Logger,
  name: DeploymentName,
  failed: CallState | Unavailable,
): DeployFailure | undefined => {
  if (!isCallState(failed)) return failureOfUnavailable(failed);
  const isFinal = failed.code === "invalid" || codeOf(failed.error) === grpcCodes.FAILED_PRECONDITION;
  return isFinal ? refused(logger, name, failed.error) : undefined;
};

export interface ConditionalWrite {
  readonly name: DeploymentName;
  readonly owner: AccountId;
  readonly expected: Expected;
  /** The id that `change` stores in `state.write`. */
  readonly write: string;
  readonly change: (seen: CurrentState) => Change;
  /** Called with the error of a failed write. If it returns true, `change` is called again and the write is retried. */
  readonly mayRetry?: (error: unknown) => Promise<boolean>;
}

/** Returns the new etag once the write is applied. */
export const writeConditionally = async (
  deps: WriteDeps,
  { name, owner, expected, write, change, mayRetry = async () => false }: ConditionalWrite,
  retry: RetryOptions = {},
): Promise<Result<string, DeployFailure>> => {
  for (let tries = 0; tries < TRIES; tries++) {
    // The second attempt follows immediately; later ones back off.
    if (tries > 1) await deps.clock.sleep(PAUSE_MS * tries, retry.signal);
    const seen = await readState(deps, name, retry);
    if (seen.isErr()) return err(failureOfUnavailable(seen.error));
    const { run, own } = seen.value;
    if (run !== null && own?.record.state.write === write) return ok(etagOf(run.uid ?? "", own.record));
    const lost = writeConflict(owner, expected, presentOf(seen.value));
    if (lost !== undefined) return err(lost);
    const { service, mask } = change(seen.value);
    const written =
      own === undefined
        ? await deps.services.create(name, service, retry)
        : await deps.services.update(name, { ...service, etag: own.runEtag }, mask, retry);
    // The next read confirms the write: it returns a new service's uid, and also finds a write whose response was lost.
    if (written.isOk()) continue;
    const failure = (await mayRetry(causeOf(written.error)))
      ? undefined
      : finalFailure(deps.logger, name, written.error);
    if (failure !== undefined) return err(failure);
  }
  return err({ reason: "provider_unavailable", message: "Cloud Run is busy with this service. Deploy again." });
};
