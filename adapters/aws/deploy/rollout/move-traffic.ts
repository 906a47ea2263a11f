/** Points the listener's rule at a ready revision that may serve. From here on, aborting has no effect. */
import { isLost } from "../../../../core/domain/volumes/write-condition.ts";
import type { RolloutEvent } from "../../../../core/ports/service-platform.ts";
import { err, ok } from "../../../../core/result.ts";
import { failed } from "../../../shared/deploy/rollout-ends.ts";
import { tagsOf } from "../records/names.ts";
import type { HeldRecord } from "../records/record.ts";
import { routedTo } from "../retire.ts";
import { afterDoubt, giveUp, leave } from "./abandon.ts";
import { endMoved } from "./after-traffic.ts";
import { ensureRule, failureOfRule } from "./listener-rule.ts";
import { type Attempt, LAST_PATIENCE_MS, PATIENCE_MS, type Say, type Step } from "./run-rollout.ts";

const patience = { patience: PATIENCE_MS };

/** Routes all requests for the host to the group. The former revisions keep weight 0 to finish their requests. */
const route = async ({ deps, request, revision, host }: Attempt, group: string): Step<void> => {
  const tags = tagsOf({ ...request.template, revision });
  const front = await ensureRule(deps, { host, group, tags }, patience);
  if (front.isErr()) return err(front.error);
  const { arn, targets } = front.value;
  // A rule without targets was edited by hand to answer itself.
  if (targets.length > 0 && targets.every((one) => one.group === group)) return ok(undefined);
  const others = targets.filter((one) => one.group !== group && one.weight > 0);
  const wanted = [{ group, weight: 1 }, ...others.map((one) => ({ group: one.group, weight: 0 }))];
  return (await deps.balancer.forward(arn, wanted, patience)).mapErr(failureOfRule);
};

/** Undefined: the rules could not be read. */
const isRouted = async ({ deps, revision, host }: Attempt): Promise<boolean | undefined> => {
  const rules = await deps.balancer.rules({ patience: LAST_PATIENCE_MS });
  return rules.isErr() ? undefined : routedTo(rules.value, host, [revision]) !== undefined;
};

/** @param group the ARN of the revision's target group */
export const moveTraffic = async (
  attempt: Attempt,
  record: HeldRecord,
  group: string,
  say: Say,
): Promise<RolloutEvent> => {
  const moving = await attempt.goOn(record, "moving", {}, patience);
  if (moving.isErr()) return isLost(moving.error) ? leave(attempt, moving.error) : afterDoubt(attempt, moving.error);
  const routed = await route(attempt, group);
  if (routed.isErr()) {
    const isServing = await isRouted(attempt);
    // Unknown outcome: after this write's time limit, the next reader goes by the rule.
    if (isServing === undefined) return failed(routed.error);
    if (!isServing) return giveUp(attempt, moving.value, routed.error);
  }
  return endMoved(attempt, moving.value, say);
};
