/**
 * Removes a revision's AWS resources. Every step names the revision, so it can be repeated. No step can remove a
 * revision that serves, because the load balancer refuses to delete a group that a rule forwards to.
 */

import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { millisOf } from "../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { pausesBetween } from "../../shared/calls/backoff.ts";
import { type CallState, isCallState } from "../../shared/calls/provider-call.ts";
import type { RetryOptions } from "../state-bucket.ts";
import type { Balancer, ForwardRule } from "./balancer.ts";
import type { EcsServices } from "./ecs-calls.ts";
import { familyOf, nameInArn, targetGroupNameOf } from "./records/names.ts";
import type { Scaling } from "./rollout/scaling.ts";

export interface RetireDeps {
  readonly services: EcsServices;
  readonly balancer: Balancer;
  readonly scaling: Scaling;
  readonly clock: Clock;
}

type Called<T> = Promise<Result<T, CallState | Unavailable>>;

const POLL_MS = 1000;

const isState = <T>(result: Result<T, CallState | Unavailable>, code: CallState["code"]): boolean =>
  result.isErr() && isCallState(result.error) && result.error.code === code;

const weightOf = (rule: ForwardRule, groupName: string): number | undefined =>
  rule.targets.find(({ group }) => nameInArn(group) === groupName)?.weight;

/** Returns the revision that gets the host's requests; undefined if none does. */
export const routedTo = (
  rules: readonly ForwardRule[],
  host: string,
  revisions: readonly string[],
): string | undefined =>
  revisions.find((revision) => {
    const name = targetGroupNameOf(revision);
    return rules.some((rule) => rule.hosts.includes(host) && (weightOf(rule, name) ?? 0) > 0);
  });

/**
 * Removes the group from all rules: deletes a rule without other groups, otherwise removes only this group, which has
 * weight 0 there.
 */
const dropFromRules = async (
  { balancer }: RetireDeps,
  rules: readonly ForwardRule[],
  groupName: string,
  retry: RetryOptions,
): Called<void> => {
  for (const rule of rules) {
    if (weightOf(rule, groupName) === undefined) continue;
    const others = rule.targets.filter(({ group }) => nameInArn(group) !== groupName);
    const dropped = await (others.length === 0
      ? balancer.deleteRule(rule.arn, retry)
      : balancer.forward(rule.arn, others, retry));
    // A deleted rule no longer references the group.
    if (dropped.isErr() && !isState(dropped, "not_found")) return dropped;
  }
  return ok(undefined);
};

/** Stops the revision's instances. */
const stop = async ({ scaling, services }: RetireDeps, revision: string, retry: RetryOptions): Called<void> => {
  const unscaled = await scaling.remove(revision, retry);
  return unscaled.isErr() ? unscaled : services.remove(revision, retry);
};

/** Waits until the instances have finished their requests, or the time is up. */
const waitUntilDrained = async (
  { balancer, clock }: RetireDeps,
  group: string,
  millis: number,
  retry: RetryOptions,
) => {
  for (let waited = 0; waited < millis && retry.signal?.aborted !== true; waited += POLL_MS) {
    const health = await balancer.health(group, retry);
    if (health.isErr() || health.value.length === 0) return;
    await clock.sleep(POLL_MS, retry.signal);
  }
};

export interface RetireOptions {
  readonly owner: AccountId;
  readonly revision: string;
  /** The deployment's host name. */
  readonly host: string;
  /** Milliseconds that instances get to finish requests; 0 if the revision never had traffic. */
  readonly drain: number;
  /** Retires the revision even if it has traffic; the result is then never `serves`. */
  readonly always?: boolean;
}

/** How long the load balancer may report a group as in use after its last rule was deleted (eventual consistency). */
const IN_USE_MS = { min: 4000, max: 20_000 } as const;
const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 2000;

/**
 * Deletes the group once no rule references it. Reads the rules again each time: an earlier read may be stale, and a
 * concurrent writer may be moving traffic. A refused deletion only shows that a rule referenced the group, perhaps
 * moments ago (https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/4848). Fails with `changed` if
 * that persists.
 */
const deleteGroupWhenUnused = async (
  deps: RetireDeps,
  group: string,
  { revision, host, always = false }: RetireOptions,
  retry: RetryOptions,
): Called<"deleted" | "serves"> => {
  const { balancer, clock } = deps;
  const wait = Math.max(IN_USE_MS.min, Math.min(retry.timeoutMs ?? IN_USE_MS.max, IN_USE_MS.max));
  const end = millisOf(clock.now()) + wait;
  for (const pause of pausesBetween(FIRST_PAUSE_MS, MAX_PAUSE_MS)) {
    const rules = await balancer.rules(retry);
    if (rules.isErr()) return err(rules.error);
    if (!always && routedTo(rules.value, host, [revision]) !== undefined) break;
    const free = await dropFromRules(deps, rules.value, targetGroupNameOf(revision), retry);
    if (free.isErr()) return err(free.error);
    const dropped = await balancer.deleteGroup(group, retry);
    if (dropped.isOk()) return ok("deleted");
    if (!isState(dropped, "changed") || millisOf(clock.now()) + pause > end) return err(dropped.error);
    await clock.sleep(pause, retry.signal);
  }
  return ok("serves");
};

/** Deletes the group and its rules' references. Returns `serves` if the group has traffic; then it is unchanged. */
const detach = async (deps: RetireDeps, group: string, options: RetireOptions, retry: RetryOptions) => {
  const { revision, host, drain } = options;
  if (drain > 0) {
    const rules = await deps.balancer.rules(retry);
    if (rules.isErr()) return err(rules.error);
    if (routedTo(rules.value, host, [revision]) !== undefined) return ok("serves" as const);
    const stopped = await stop(deps, revision, retry);
    if (stopped.isErr()) return err(stopped.error);
    await waitUntilDrained(deps, group, drain, retry);
  }
  return deleteGroupWhenUnused(deps, group, options, retry);
};

/**
 * Returns `serves` if the revision has traffic; then it is unchanged. Returns `deleted` if it can never get traffic
 * again: a rule cannot forward to a deleted group, however late a writer tries.
 */
export const retire = async (
  deps: RetireDeps,
  options: RetireOptions,
  retry: RetryOptions = {},
): Called<"deleted" | "serves"> => {
  const { owner, revision, drain } = options;
  const found = await deps.balancer.group(revision, retry);
  if (found.isErr()) return err(found.error);
  const group = found.value?.TargetGroupArn;
  const detached = group === undefined ? ok("deleted" as const) : await detach(deps, group, options, retry);
  if (detached.isErr() || detached.value === "serves") return detached;
  // A drained revision was already stopped.
  if (group === undefined || drain === 0) {
    const stopped = await stop(deps, revision, retry);
    if (stopped.isErr()) return err(stopped.error);
  }
  const forgotten = await deps.services.forget(familyOf(owner, revision), retry);
  return forgotten.map(() => "deleted" as const);
};
