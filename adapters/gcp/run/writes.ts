/**
 * Conditional writes. The port's etag names the last write of a rollout and is kept in an annotation, because Run's own
 * changes with every note as well. A write reads the service, compares the port's etag, and writes with Run's etag of
 * that very read; where Run says that it changed in between, it reads again. So the comparison holds at the moment of
 * the write: whatever came in between was a note, or makes the next comparison fail.
 *
 * A write whose answer was lost is found by its own id and not made twice.
 */
import type { AccountId } from "../../../core/domain/account.ts";
import type { Expected } from "../../../core/domain/deploy-plan.ts";
import type { DeployFailure } from "../../../core/domain/deploy-reason.ts";
import type { DeploymentName } from "../../../core/domain/names.ts";
import { type Present, writeConflict } from "../../../core/domain/write-condition.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { NOBODY } from "../../shared/account-digest.ts";
import { isCallState } from "../../shared/provider-call.ts";
import { failureOfUnavailable } from "../failures.ts";
import { codeOf, grpcCodes } from "../google.ts";
import { etagOf, type OwnService, parseOwn } from "./parse.ts";
import type { RunService } from "./render.ts";
import type { Patience, RunServices } from "./services.ts";

export interface Standing {
  /** Null: the name is free. */
  readonly run: RunService | null;
  /** Undefined: free, or none of ours. */
  readonly own: OwnService | undefined;
}

export interface Change {
  readonly service: RunService;
  readonly mask: readonly string[];
}

export interface WriteDeps {
  readonly services: RunServices;
  readonly region: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

export const standing = async (
  { services, region, clock }: WriteDeps,
  name: DeploymentName,
  patience: Patience = {},
): Promise<Result<Standing, Unavailable>> => {
  const read = await services.get(name, patience);
  return read.map((run) => ({ run, own: run === null ? undefined : parseOwn(run, { region, now: clock.now() }) }));
};

export const presentOf = ({ run, own }: Standing): Present => {
  if (run === null) return { kind: "free" };
  if (own === undefined) return { kind: "reserved", owner: NOBODY };
  return { kind: "held", owner: own.service.owner, etag: own.service.etag };
};

/** Somebody else's note may come in between each time; more often than that is no accident. */
const TRIES = 20;
const PAUSE_MS = 50;

const refused = (logger: Logger, name: DeploymentName, error: unknown): DeployFailure => {
  logger.error("Cloud Run does not take a service", { name, error });
  return {
    reason: codeOf(error) === grpcCodes.FAILED_PRECONDITION ? "permission" : "internal",
    message:
      "Cloud Run does not take the service as declared. Often that is a quota of the region: declare less CPU or memory, or fewer max_instances.",
  };
};

export interface ConditionalWrite {
  readonly name: DeploymentName;
  readonly owner: AccountId;
  readonly expected: Expected;
  /** The id that the written record carries in `state.write`. */
  readonly write: string;
  readonly change: (seen: Standing) => Change;
}

/** Ok: what was written stands, under the etag that is answered. */
export const writeConditionally = async (
  deps: WriteDeps,
  { name, owner, expected, write, change }: ConditionalWrite,
  patience: Patience = {},
): Promise<Result<string, DeployFailure>> => {
  for (let tries = 0; tries < TRIES; tries++) {
    // The second look follows at once; who meets others more often gives way.
    if (tries > 1) await deps.clock.sleep(PAUSE_MS * tries, patience.signal);
    const seen = await standing(deps, name, patience);
    if (seen.isErr()) return err(failureOfUnavailable(seen.error));
    const { run, own } = seen.value;
    if (run !== null && own?.record.state.write === write) return ok(etagOf(run.uid ?? "", own.record));
    const lost = writeConflict(owner, expected, presentOf(seen.value));
    if (lost !== undefined) return err(lost);
    const { service, mask } = change(seen.value);
    const written =
      own === undefined
        ? await deps.services.create(name, service, patience)
        : await deps.services.update(name, { ...service, etag: own.runEtag }, mask, patience);
    // An answer is not believed but read again: a first write has no uid before, and a lost one is found this way, too.
    if (written.isOk()) continue;
    if (!isCallState(written.error)) return err(failureOfUnavailable(written.error));
    const { code, error } = written.error;
    if (code === "invalid" || codeOf(error) === grpcCodes.FAILED_PRECONDITION)
      return err(refused(deps.logger, name, error));
  }
  return err({ reason: "provider_unavailable", message: "Cloud Run is busy with this service; deploy again." });
};
