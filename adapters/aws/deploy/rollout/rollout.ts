/**
 * One rollout. It creates a revision with its own service and target group beside the serving one. Once the revision is
 * ready and may serve, the listener's rule is pointed at it. Until then, the serving revision is unchanged.
 *
 * Four writes record the step: `rolling`, `moving`, and `moved` or `ended`. Each is conditional on the one before and has a
 * time limit, so the next deploy can repair whatever a crashed control plane leaves behind. The rule itself takes no
 * condition. A writer that takes over from one that died while moving traffic first deletes that one's target group. Then
 * either the rule references it and it serves, or no rule ever will.
 */
import { isLost } from "../../../../core/domain/volumes/write-condition.ts";
import type { RolloutEvent, RolloutRequest } from "../../../../core/ports/service-platform.ts";
import { failed, INTERRUPTED } from "../../../shared/deploy/rollout-ends.ts";
import { failRollout, resolveUncertainWrite } from "./abandon.ts";
import { awaitReady } from "./await-ready.ts";
import { beginRollout } from "./begin.ts";
import { createRevision } from "./create-revision.ts";
import { failureOfRule } from "./listener-rule.ts";
import { moveTraffic } from "./move-traffic.ts";
import { prepare } from "./prepare.ts";
import { Attempt, type RolloutDeps, type Say } from "./run-rollout.ts";

/** Throws only on a bug. @param say reports progress */
export const rollOut = async (
  deps: RolloutDeps,
  request: RolloutRequest,
  signal: AbortSignal,
  say: Say,
): Promise<RolloutEvent> => {
  const { template, listenDeadline, mayServe } = request;
  const prepared = await prepare(deps, template, { signal });
  if (signal.aborted) return failed(INTERRUPTED);
  if (prepared.isErr()) return failed(prepared.error);

  const attempt = new Attempt(deps, request, signal);
  const { revision, write } = attempt;
  const begun = await beginRollout(attempt);
  if (begun.isErr()) return isLost(begun.error) ? failed(begun.error) : resolveUncertainWrite(attempt, begun.error);
  const record = begun.value;
  const [former] = record.former;

  say(`Starting revision ${revision}`);
  const wanted = { ...prepared.value, revision, write, template, listenDeadline, former };
  const made = await createRevision(deps, wanted, attempt.left());
  if (made.isErr()) return failRollout(attempt, record, made.error);
  const { group, heldRule } = made.value;
  attempt.heldRule = heldRule;
  const ready = await awaitReady(attempt, record, group, say);
  if (ready.isErr()) return failRollout(attempt, record, ready.error);

  say("The revision is ready");
  const refused = await mayServe?.();
  if (refused !== undefined) return failRollout(attempt, record, refused);
  const scaled = await deps.scaling.set(revision, group, template, attempt.left());
  if (scaled.isErr()) return failRollout(attempt, record, failureOfRule(scaled.error));
  if (signal.aborted) return failRollout(attempt, record, INTERRUPTED);
  return moveTraffic(attempt, record, group, say);
};
