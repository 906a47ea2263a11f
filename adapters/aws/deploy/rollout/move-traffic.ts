/** Points the listener's rule at a ready revision that may serve. From here on, aborting has no effect. */
import { isLost } from "../../../../core/domain/volumes/write-condition.ts";
import type { RolloutEvent } from "../../../../core/ports/service-platform.ts";
import { err, ok } from "../../../../core/result.ts";
import { failed } from "../../../shared/deploy/rollout-ends.ts";
import { tagsOf } from "../records/names.ts";
import type { HeldRecord } from "../records/record.ts";
import { routedTo } from "../retire.ts";
import { abandonRevision, failRollout, resolveUncertainWrite } from "./abandon.ts";
import { completeRollout } from "./after-traffic.ts";
import { ensureRule, failureOfRule } from "./listener-rule.ts";
import { type Attempt, FINAL_RETRY_TIMEOUT_MS, RETRY_TIMEOUT_MS, type Say, type Step } from "./run-rollout.ts";

const retry = { timeoutMs: RETRY_TIMEOUT_MS };

/** Routes all requests for the host to the group. The former revisions keep weight 0 to finish their requests. */
const route = async ({ deps, request, revision, host }: Attempt, group: string): Step<void> => {
  const tags = tagsOf({ ...request.template, revision });
  const front = await ensureRule(deps, { host, group, tags }, retry);
  if (front.isErr()) return err(front.error);
  const { arn, targets } = front.value;
  // A rule without targets was edited by hand to answer itself.
  if (targets.length > 0 && targets.every((one) => one.group === group)) return ok(undefined);
  const others = targets.filter((one) => one.group !== group && one.weight > 0);
  const wanted = [{ group, weight: 1 }, ...others.map((one) => ({ group: one.group, weight: 0 }))];
  return (await deps.balancer.forward(arn, wanted, retry)).mapErr(failureOfRule);
};

/** Undefined: the rules could not be read. */
const isRouted = async ({ deps, revision, host }: Attempt): Promise<boolean | undefined> => {
  const rules = await deps.balancer.rules({ timeoutMs: FINAL_RETRY_TIMEOUT_MS });
  return rules.isErr() ? undefined : routedTo(rules.value, host, [revision]) !== undefined;
};

/** @param group the ARN of the revision's target group */
export const moveTraffic = async (
  attempt: Attempt,
  record: HeldRecord,
  group: string,
  say: Say,
): Promise<RolloutEvent> => {
  const moving = await attempt.goOn(record, "moving", {}, retry);
  if (moving.isErr())
    return isLost(moving.error) ? abandonRevision(attempt, moving.error) : resolveUncertainWrite(attempt, moving.error);
  const routed = await route(attempt, group);
  if (routed.isErr()) {
    const isServing = await isRouted(attempt);
    // Unknown outcome: after this write's time limit, the next reader goes by the rule.
    if (isServing === undefined) return failed(routed.error);
    if (!isServing) return failRollout(attempt, moving.value, routed.error);
  }
  return completeRollout(attempt, moving.value, say);
};
