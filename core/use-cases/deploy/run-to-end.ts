/**
 * Runs a deploy or a redeploy to its last record, independently of the client. Every outcome is a record of the stream.
 */
import { type DeployUpdate, done, failed } from "../../domain/deploy/events.ts";
import { err } from "../../result.ts";
import type { Permit } from "../pipeline/keyed-semaphore.ts";
import { whenAborted } from "../pipeline/when-aborted.ts";
import { BUG, endedEarly, type PhaseResult, type RunContext } from "./phase.ts";
import { recordOutcome, recordStatus } from "./record-outcome.ts";
import type { RolledOut } from "./roll-out.ts";

export interface Steps {
  /** The permit that the deploy waits for, and releases at its end. */
  readonly permit: Permit;
  /** The first record. */
  readonly first: DeployUpdate;
  /** The record of a deploy that must wait. */
  readonly waiting: DeployUpdate;
  /** The status that is persisted when the wait has ended. */
  readonly began: DeployUpdate;
  readonly phases: () => Promise<PhaseResult<RolledOut>>;
}

const doneOf = ({ url, revision, runner }: RolledOut): DeployUpdate =>
  done(url, `Revision ${revision} serves all traffic${runner === undefined ? "" : ` (${runner})`}`);

/** Never throws: a bug ends the deploy with `internal`. */
export const runToEnd = async (
  context: RunContext,
  { permit, first, waiting, began, phases }: Steps,
): Promise<void> => {
  const { ports, run } = context;
  try {
    run.emit(first);
    if (!permit.granted) run.emit(waiting);
    await Promise.race([permit.whenGranted, whenAborted(run.signal)]);
    // Record the status only now, because a platform stores the status of one deploy per name.
    if (!run.signal.aborted) await recordStatus(context, began);
    const outcome = run.signal.aborted ? err(endedEarly(run)) : await phases();
    await recordOutcome(context, outcome.match(doneOf, failed));
  } catch (cause) {
    ports.logger.error("a deploy failed with a bug", { deployId: run.deployId, cause });
    const bug = failed({ reason: "internal", message: BUG });
    await recordStatus(context, bug).catch(() => undefined);
    if (run.phase !== "ended") run.emit(bug);
  } finally {
    permit.release();
  }
};
