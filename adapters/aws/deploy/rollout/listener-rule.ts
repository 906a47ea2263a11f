/** A deployment's listener rules: the public one, and one that holds a revision before it serves. */
import type { DeployFailure } from "../../../../core/domain/deploy/reason.ts";
import type { Clock } from "../../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../../core/result.ts";
import { isCallState } from "../../../shared/calls/provider-call.ts";
import type { RetryOptions } from "../../state-bucket.ts";
import type { Balancer, ForwardRule, NewRule } from "../balancer.ts";
import { isLimit } from "../error-kinds.ts";
import { isOwnGroup } from "../records/names.ts";
import { failureOfCall } from "./verdict.ts";

/** CreateRule accepts priorities from 1 to 50,000. */
const PRIORITIES = 50_000;
const TRIES = 20;
const PAUSE_MS = 200;

const NO_ROOM: DeployFailure = {
  reason: "quota_exceeded",
  message: "The load balancer has no room for another service: its quotas of rules and target groups are used up.",
};

const GONE: DeployFailure = {
  reason: "superseded",
  message: "Another deploy changed this deployment in the meantime. Deploy again to replace it.",
};

/** Starts at a hash of the seed, so that concurrent creators rarely collide; the loser takes another priority. */
const priorityFor = (seed: string, taken: ReadonlySet<number>): number => {
  const start = [...seed].reduce((sum, char) => (sum * 31 + char.charCodeAt(0)) % PRIORITIES, 7);
  for (let step = 0; step < PRIORITIES; step++) {
    const priority = ((start + step) % PRIORITIES) + 1;
    if (!taken.has(priority)) return priority;
  }
  return PRIORITIES;
};

/** Whether a rule that is not Portside's already uses the host. */
export const isTaken = (rules: readonly ForwardRule[], host: string): boolean =>
  rules.some((rule) => rule.hosts.includes(host) && !rule.targets.some(({ group }) => isOwnGroup(group)));

export const failureOfRule = (error: Parameters<typeof failureOfCall>[0]): DeployFailure => {
  if (!isCallState(error)) return failureOfCall(error);
  if (isLimit(error.error)) return NO_ROOM;
  return error.code === "not_found" ? GONE : failureOfCall(error);
};

export interface RuleDeps {
  readonly balancer: Balancer;
  readonly clock: Clock;
}

/**
 * Returns the host's rule, and creates it if missing. After a failed create, reads the rules again, so that it creates no
 * second rule if only the response was lost. After a success it does not, because the list may lag behind.
 */
export const ensureRule = async (
  { balancer, clock }: RuleDeps,
  rule: Omit<NewRule, "priority">,
  retry: RetryOptions,
): Promise<Result<ForwardRule, DeployFailure>> => {
  let last: DeployFailure = NO_ROOM;
  for (let tries = 0; tries < TRIES; tries++) {
    const rules = await balancer.rules(retry);
    if (rules.isErr()) return err(failureOfRule(rules.error));
    const known = rules.value.find(({ hosts }) => hosts.includes(rule.host));
    if (known !== undefined) return ok(known);
    const taken = new Set(rules.value.map(({ priority }) => priority));
    const made = await balancer.makeRule({ ...rule, priority: priorityFor(`${rule.group}${tries}`, taken) }, retry);
    if (made.isOk() && made.value !== undefined) return ok(made.value);
    if (made.isOk()) continue;
    last = failureOfRule(made.error);
    const mayPass = isCallState(made.error) ? made.error.code === "exists" : last.reason !== "permission";
    if (!mayPass || retry.signal?.aborted === true) return err(last);
    await clock.sleep(PAUSE_MS * (tries + 1), retry.signal);
  }
  return err(last);
};
