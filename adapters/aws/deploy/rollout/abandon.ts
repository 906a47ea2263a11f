/** Ends a failed rollout. The revisions that had traffic keep it. */
import { type DeployFailure, isLost } from "../../../../core/domain/deploy/reason.ts";
import type { RolloutEvent } from "../../../../core/ports/service-platform.ts";
import { ok } from "../../../../core/result.ts";
import { failed, INTERRUPTED } from "../../../shared/deploy/rollout-ends.ts";
import type { HeldRecord } from "../records/record.ts";
import { heldIn } from "../records/writes.ts";
import { retire } from "../retire.ts";
import { sweep } from "../sweep.ts";
import { completeRollout } from "./complete-rollout.ts";
import { FINAL_RETRY_TIMEOUT_MS, type RolloutAttempt } from "./rollout-attempt.ts";

const retry = { timeoutMs: FINAL_RETRY_TIMEOUT_MS };

const removeRevision = ({ deps, request, revision, host }: RolloutAttempt) =>
  retire(deps, { owner: request.template.owner, revision, host, drain: 0 }, retry);

/**
 * Removes this rollout's resources after another writer has changed the record. That writer may have removed the
 * revision before the newest of these resources existed.
 */
export const abandonRevision = async (attempt: RolloutAttempt, failure: DeployFailure): Promise<RolloutEvent> => {
  const { deps, revision } = attempt;
  const left = await removeRevision(attempt);
  if (left.isErr()) deps.logger.warn("a superseded revision was not removed", { revision });
  return failed(failure);
};

/**
 * Records that the rollout failed. The previous revisions keep the traffic. If the new revision already serves,
 * completes the rollout instead. If the record cannot be written, the rollout ends at its deadline.
 */
export const failRollout = async (
  attempt: RolloutAttempt,
  record: HeldRecord,
  failure: DeployFailure,
): Promise<RolloutEvent> => {
  if (isLost(failure)) return abandonRevision(attempt, failure);
  const { deps, request, revision, signal } = attempt;
  // First remove a revision that may have traffic, so that no revision serves after its rollout is recorded as ended.
  const fenced = record.state.step === "moving" ? await removeRevision(attempt) : ok("deleted" as const);
  if (fenced.isErr()) return failed(failure);
  if (fenced.value === "serves") return completeRollout(attempt, record, () => undefined);
  const retired = [...new Set([...record.retired, revision])];
  const ended = await attempt.writeStep(record, "ended", { retired }, retry);
  if (ended.isOk()) await sweep(attempt, ended.value, 0, retry);
  else if (isLost(ended.error)) return abandonRevision(attempt, failure);
  else deps.logger.warn("a failed rollout stays visible until its deadline", { name: request.template.name });
  return failed(signal.aborted ? INTERRUPTED : failure);
};

/**
 * Fails a rollout after a write that returned an error but may have been applied. Reads the record. If the rollout is
 * still the record's current one, also records its end.
 */
export const resolveUncertainWrite = async (attempt: RolloutAttempt, failure: DeployFailure): Promise<RolloutEvent> => {
  const { deps, request, revision, signal } = attempt;
  const seen = await deps.records.read(request.template.name, retry);
  const held = seen.isOk() ? heldIn(seen.value) : undefined;
  if (held === undefined || held.state.revision !== revision) return failed(signal.aborted ? INTERRUPTED : failure);
  return failRollout(attempt, held, failure);
};
