/** The ends of a rollout that comes to nothing: what had traffic has it still. */
import type { DeployFailure } from "../../../core/domain/deploy-reason.ts";
import { isLost } from "../../../core/domain/write-condition.ts";
import type { RolloutEvent } from "../../../core/ports/service-platform.ts";
import { ok } from "../../../core/result.ts";
import { failed, INTERRUPTED } from "../../shared/rollout-ends.ts";
import { type Attempt, LAST_PATIENCE_MS } from "./attempt.ts";
import { endMoved } from "./moved.ts";
import type { HeldRecord } from "./record.ts";
import { retire } from "./retire.ts";
import { sweep } from "./sweep.ts";
import { heldIn } from "./writes.ts";

const patience = { patience: LAST_PATIENCE_MS };

const takenAway = ({ deps, request, revision, host }: Attempt) =>
  retire(deps, { owner: request.template.owner, revision, host, drain: 0 }, patience);

/** Somebody else goes on from here, who knows nothing of what this rollout made last. */
export const leave = async (attempt: Attempt, failure: DeployFailure): Promise<RolloutEvent> => {
  const { deps, revision } = attempt;
  const left = await takenAway(attempt);
  if (left.isErr()) deps.logger.warn("a revision that lost was not taken away", { revision });
  return failed(failure);
};

/** Nothing is rolled out any more; what had traffic has it still. Where even this fails, time ends it. */
export const giveUp = async (attempt: Attempt, record: HeldRecord, failure: DeployFailure): Promise<RolloutEvent> => {
  if (isLost(failure)) return leave(attempt, failure);
  const { deps, request, revision, signal } = attempt;
  // One that may have got traffic is fenced first: what is written then is true for ever.
  const fenced = record.state.step === "moving" ? await takenAway(attempt) : ok("gone" as const);
  if (fenced.isErr()) return failed(failure);
  if (fenced.value === "serves") return endMoved(attempt, record, () => undefined);
  const retired = [...new Set([...record.retired, revision])];
  const ended = await attempt.goOn(record, "ended", { retired }, patience);
  if (ended.isOk()) await sweep(attempt, ended.value, 0, LAST_PATIENCE_MS);
  else if (isLost(ended.error)) return leave(attempt, failure);
  else deps.logger.warn("a failed rollout shows until its time is over", { name: request.template.name });
  return failed(signal.aborted ? INTERRUPTED : failure);
};

/** A write did not end well, and may stand all the same: what the record says about it counts. */
export const afterDoubt = async (attempt: Attempt, failure: DeployFailure): Promise<RolloutEvent> => {
  const { deps, request, revision, signal } = attempt;
  const seen = await deps.records.read(request.template.name, patience);
  const held = seen.isOk() ? heldIn(seen.value) : undefined;
  if (held === undefined || held.state.revision !== revision) return failed(signal.aborted ? INTERRUPTED : failure);
  return giveUp(attempt, held, failure);
};
