/** A deployment's listener rules: the public rule, and a rule that references a revision before the revision serves. */
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { err, ok, safeTry } from "../../../../core/result.ts";
import { isCallState } from "../../../cloud/calls/provider-call.ts";
import type { RetryOptions } from "../../call-policy.ts";
import type { Step } from "../../failures.ts";
import type { Balancer, ForwardRule, NewRule } from "../balancer.ts";
import { isLimit } from "../ecs-faults.ts";
import { isOwnGroup } from "../records/names.ts";
import { failureOfCall } from "./verdict.ts";

/** Number of rule priorities, which start at 1 (CreateRule). */
const PRIORITIES = 50_000;
const TRIES = 20;
const PAUSE_MS = 200;

const QUOTA_EXHAUSTED: DeployFailure = {
  reason: "quota_exceeded",
  message:
    "An AWS quota is exhausted, such as the load balancer's quota of rules or target groups. Delete a deployment, or add a load balancer with the stack's parameter MoreBalancers.",
};

const SUPERSEDED: DeployFailure = {
  reason: "superseded",
  message: "Another deploy changed this deployment in the meantime. Deploy again to replace it.",
};

/**
 * Returns a free priority. The search starts at a hash of the seed, so concurrent callers rarely choose the same
 * priority. If two callers do, one of them fails and tries another priority.
 */
const priorityFor = (seed: string, taken: ReadonlySet<number>): number => {
  const start = [...seed].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) % PRIORITIES, 7);
  for (let step = 0; step < PRIORITIES; step++) {
    const priority = ((start + step) % PRIORITIES) + 1;
    if (!taken.has(priority)) return priority;
  }
  return PRIORITIES;
};

/** True if a rule that Portside did not create uses the host. */
export const isTaken = (rules: readonly ForwardRule[], host: string): boolean =>
  rules.some((rule) => rule.hosts.includes(host) && !rule.targets.some(({ group }) => isOwnGroup(group)));

export const failureOfRule = (error: Parameters<typeof failureOfCall>[0]): DeployFailure => {
  if (!isCallState(error)) return failureOfCall(error);
  if (isLimit(error.error)) return QUOTA_EXHAUSTED;
  return error.code === "not_found" ? SUPERSEDED : failureOfCall(error);
};

export interface RuleDeps {
  readonly balancer: Balancer;
  readonly clock: Clock;
}

/**
 * Returns the host's rule; creates it if it does not exist. After a failed create, reads the rules again, so that a
 * lost response does not lead to a second rule. After a successful create, does not read the rules, because the list
 * may lag behind.
 */
export const ensureRule = (
  { balancer, clock }: RuleDeps,
  rule: Omit<NewRule, "priority">,
  retry: RetryOptions,
): Step<ForwardRule> =>
  safeTry(async function* () {
    let last = QUOTA_EXHAUSTED;
    for (let tries = 0; tries < TRIES; tries++) {
      const rules = yield* await balancer.rules(retry).mapErr(failureOfRule);
      const known = rules.find(({ hosts }) => hosts.includes(rule.host));
      if (known !== undefined) return ok(known);
      const priority = priorityFor(`${rule.group}${tries}`, new Set(rules.map((one) => one.priority)));
      const created = await balancer.createRule({ ...rule, priority }, retry);
      if (created.isOk() && created.value !== undefined) return ok(created.value);
      if (created.isOk()) continue;
      last = failureOfRule(created.error);
      const isTransient = isCallState(created.error) ? created.error.code === "exists" : last.reason !== "permission";
      if (!isTransient || retry.signal?.aborted === true) return err(last);
      await clock.sleep(PAUSE_MS * (tries + 1), retry.signal);
    }
    return err(last);
  });
