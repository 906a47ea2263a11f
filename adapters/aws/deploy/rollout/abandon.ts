/** How a failed rollout ends. The revisions that had traffic keep it. */
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import { isLost } from "../../../../core/domain/volumes/write-condition.ts";
import type { RolloutEvent } from "../../../../core/ports/service-platform.ts";
import { ok } from "../../../../core/result.ts";
import { failed, INTERRUPTED } from "../../../shared/deploy/rollout-ends.ts";
import type { HeldRecord } from "../records/record.ts";
import { heldIn } from "../records/writes.ts";
import { retire } from "../retire.ts";
import { sweep } from "../sweep.ts";
import { completeRollout } from "./after-traffic.ts";
import { type Attempt, FINAL_RETRY_TIMEOUT_MS } from "./run-rollout.ts";

const retry = { timeoutMs: FINAL_RETRY_TIMEOUT_MS };

const takenAway = ({ deps, request, revision, host }: Attempt) =>
  retire(deps, { owner: request.template.owner, revision, host, drain: 0 }, retry);

/** Another writer won and does not know this rollout's last resources, so remove them here. */
export const abandonRevision = async (attempt: Attempt, failure: DeployFailure): Promise<RolloutEvent> => {
  const { deps, revision } = attempt;
  const left = await takenAway(attempt);
  if (left.isErr()) deps.logger.warn("a revision that lost was not taken away", { revision });
  return failed(failure);
};

/** Ends the rollout; the former revisions keep the traffic. If even this write fails, the record's time limit ends it. */
export const failRollout = async (
  attempt: Attempt,
  record: HeldRecord,
  failure: DeployFailure,
): Promise<RolloutEvent> => {
  if (isLost(failure)) return abandonRevision(attempt, failure);
  const { deps, request, revision, signal } = attempt;
  // Fence a revision that may have traffic first, so that what is written next stays true.
  const fenced = record.state.step === "moving" ? await takenAway(attempt) : ok("gone" as const);
  if (fenced.isErr()) return failed(failure);
  if (fenced.value === "serves") return completeRollout(attempt, record, () => undefined);
  const retired = [...new Set([...record.retired, revision])];
  const ended = await attempt.goOn(record, "ended", { retired }, retry);
  if (ended.isOk()) await sweep(attempt, ended.value, 0, FINAL_RETRY_TIMEOUT_MS);
  else if (isLost(ended.error)) return abandonRevision(attempt, failure);
  else deps.logger.warn("a failed rollout shows until its time is over", { name: request.template.name });
  return failed(signal.aborted ? INTERRUPTED : failure);
};

/** A write failed but may have taken effect, so read the record and go by it. */
export const resolveUncertainWrite = async (attempt: Attempt, failure: DeployFailure): Promise<RolloutEvent> => {
  const { deps, request, revision, signal } = attempt;
  const seen = await deps.records.read(request.template.name, retry);
  const held = seen.isOk() ? heldIn(seen.value) : undefined;
  if (held === undefined || held.state.revision !== revision) return failed(signal.aborted ? INTERRUPTED : failure);
  return failRollout(attempt, held, failure);
};
