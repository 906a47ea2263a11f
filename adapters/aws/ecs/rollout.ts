/**
 * One rollout: a revision is made beside what serves, with a service and a target group of its own, and once it is ready
 * and may serve the listener's rule is pointed at it. What serves is not touched before.
 *
 * Four writes say how far it is: `rolling`, `moving`, `moved`, or `ended`. Each is conditional on the one before, and each
 * has a time past which it is over; so a control plane that dies leaves nothing that the next deploy does not put right.
 * The rule itself takes no condition. Whoever takes over from one that died while it moved traffic deletes that one's
 * target group first: then either the rule names it, and it serves, or no rule ever will.
 */
import { isLost } from "../../../core/domain/write-condition.ts";
import type { RolloutEvent, RolloutRequest } from "../../../core/ports/service-platform.ts";
import { failed, INTERRUPTED } from "../../shared/rollout-ends.ts";
import { Attempt, type RolloutDeps, type Say } from "./attempt.ts";
import { awaitReady } from "./await-ready.ts";
import { begin } from "./begin.ts";
import { failureOfRule } from "./front-rule.ts";
import { afterDoubt, giveUp } from "./give-up.ts";
import { moveTraffic } from "./move-traffic.ts";
import { prepare } from "./prepare.ts";
import { makeRevision } from "./revision.ts";

/** Never throws but for a bug. @param say tells how it goes */
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
  const begun = await begin(attempt);
  if (begun.isErr()) return isLost(begun.error) ? failed(begun.error) : afterDoubt(attempt, begun.error);
  const record = begun.value;
  const [former] = record.former;

  say(`Starting revision ${revision}`);
  const wanted = { ...prepared.value, revision, write, template, listenDeadline, former };
  const made = await makeRevision(deps, wanted, attempt.left());
  if (made.isErr()) return giveUp(attempt, record, made.error);
  const { group, heldRule } = made.value;
  attempt.heldRule = heldRule;
  const ready = await awaitReady(attempt, record, group, say);
  if (ready.isErr()) return giveUp(attempt, record, ready.error);

  say("The revision is ready");
  const refused = await mayServe?.();
  if (refused !== undefined) return giveUp(attempt, record, refused);
  const scaled = await deps.scaling.set(revision, group, template, attempt.left());
  if (scaled.isErr()) return giveUp(attempt, record, failureOfRule(scaled.error));
  if (signal.aborted) return giveUp(attempt, record, INTERRUPTED);
  return moveTraffic(attempt, record, group, say);
};
