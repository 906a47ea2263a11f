/**
 * Removes a revision's AWS resources. Every step can be repeated. Unless forced, the removal stops if the revision
 * serves; the load balancer also rejects the deletion of a target group that a rule forwards to.
 *
 * ECS deployments stall if the target group of their service is deleted
 * (https://github.com/aws/containers-roadmap/issues/1884 and /issues/2196). This does not matter here, because Portside
 * deletes the service too.
 */

import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { millisOf } from "../../../core/domain/wire/instant.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { err, ok, safeTry } from "../../../core/result.ts";
import { backoff } from "../../cloud/calls/backoff.ts";
import { type Called, isState, missingAsOk, type RetryOptions } from "../call-policy.ts";
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

const FIRST_POLL_MS = 1000;
const MAX_POLL_MS = 15_000;
const POLL_GROWTH = 4;

const weightOf = (rule: ForwardRule, groupName: string): number | undefined =>
  rule.targets.find(({ group }) => nameInArn(group) === groupName)?.weight;

/** Returns the revision that gets the host's requests; undefined if no revision does. */
export const routedTo = (
  rules: readonly ForwardRule[],
  host: string,
  revisions: readonly string[],
): string | undefined =>
  revisions.find((revision) => {
    const name = targetGroupNameOf(revision);
    return rules.some((rule) => rule.hosts.includes(host) && (weightOf(rule, name) ?? 0) > 0);
  });

/** Removes the group from the rules. Deletes a rule that has no other group. */
const dropFromRules = (
  { balancer }: RetireDeps,
  rules: readonly ForwardRule[],
  groupName: string,
  retry: RetryOptions,
): Called<void> =>
  safeTry(async function* () {
    for (const rule of rules) {
      if (weightOf(rule, groupName) === undefined) continue;
      const others = rule.targets.filter(({ group }) => nameInArn(group) !== groupName);
      const dropped =
        others.length === 0 ? balancer.deleteRule(rule.arn, retry) : balancer.forward(rule.arn, others, retry);
      // A deleted rule no longer references the group.
      yield* await dropped.orElse(missingAsOk);
    }
    return ok(undefined);
  });

/** Deletes the revision's scaling and ECS service, which stops its instances. */
const stop = ({ scaling, services }: RetireDeps, revision: string, retry: RetryOptions): Called<void> =>
  scaling.remove(revision, retry).andThen(() => services.remove(revision, retry));

/**
 * Waits until the instances have finished their requests or the time is up. AWS may show targets as draining for the
 * whole deregistration delay, so the pauses between polls grow:
 * https://docs.aws.amazon.com/elasticloadbalancing/latest/application/edit-target-group-attributes.html
 */
const waitUntilDrained = async (
  { balancer, clock }: RetireDeps,
  group: string,
  millis: number,
  retry: RetryOptions,
) => {
  const end = millisOf(clock.now()) + millis;
  for (const pause of backoff(FIRST_POLL_MS, MAX_POLL_MS, POLL_GROWTH)) {
    const left = end - millisOf(clock.now());
    if (left <= 0 || retry.signal?.aborted === true) return;
    const health = await balancer.health(group, retry);
    if (health.isErr() || health.value.length === 0) return;
    await clock.sleep(Math.min(pause, left), retry.signal);
  }
};

export interface RetireOptions {
  readonly owner: AccountId;
  readonly revision: string;
  /** The deployment's host name. */
  readonly host: string;
  /** Milliseconds for instances to finish their requests; 0 to remove the revision immediately. */
  readonly drain: number;
  /** Retires the revision even if it has traffic. Requires a `drain` of 0. */
  readonly force?: boolean;
}

/**
 * How long to retry the deletion of a group, in milliseconds. The load balancer may report a group as in use for some
 * seconds after its last rule was deleted.
 */
const IN_USE_MS = { min: 4000, max: 20_000 } as const;
const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 2000;

/**
 * Deletes the group once no rule references it. Reads the rules again each time: an earlier read may be stale, and a
 * concurrent writer may be moving traffic. A rejected deletion shows only that a rule references the group or did so
 * moments ago (https://github.com/kubernetes-sigs/aws-load-balancer-controller/issues/4848). Fails with `changed` if
 * the load balancer keeps rejecting the deletion.
 */
const deleteGroupWhenUnused = (
  deps: RetireDeps,
  group: string,
  { revision, host, force = false }: RetireOptions,
  retry: RetryOptions,
): Called<"deleted" | "serves"> =>
  safeTry(async function* () {
    const { balancer, clock } = deps;
    const wait = Math.max(IN_USE_MS.min, Math.min(retry.timeoutMs ?? IN_USE_MS.max, IN_USE_MS.max));
    const end = millisOf(clock.now()) + wait;
    for (const pause of backoff(FIRST_PAUSE_MS, MAX_PAUSE_MS)) {
      const rules = yield* await balancer.rules(retry);
      if (!force && routedTo(rules, host, [revision]) !== undefined) break;
      yield* await dropFromRules(deps, rules, targetGroupNameOf(revision), retry);
      const dropped = await balancer.deleteGroup(group, retry);
      if (dropped.isOk()) return ok("deleted" as const);
      if (!isState(dropped, "changed") || millisOf(clock.now()) + pause > end) return err(dropped.error);
      await clock.sleep(pause, retry.signal);
    }
    return ok("serves" as const);
  });

/** Deletes the group and all references to it. Returns `serves` if the group has traffic and `force` is not set. */
const detach = (deps: RetireDeps, group: string, options: RetireOptions, retry: RetryOptions) =>
  safeTry(async function* () {
    const { revision, host, drain } = options;
    if (drain > 0) {
      const rules = yield* await deps.balancer.rules(retry);
      if (routedTo(rules, host, [revision]) !== undefined) return ok("serves" as const);
      yield* await stop(deps, revision, retry);
      await waitUntilDrained(deps, group, drain, retry);
    }
    return deleteGroupWhenUnused(deps, group, options, retry);
  });

/**
 * Removes the revision's resources and returns `deleted`. The revision can then never get traffic again, because a rule
 * cannot forward to a deleted group. If the revision has traffic and `force` is not set, keeps it and returns `serves`.
 */
export const retire = (
  deps: RetireDeps,
  options: RetireOptions,
  retry: RetryOptions = {},
): Called<"deleted" | "serves"> =>
  safeTry(async function* () {
    const { owner, revision, drain } = options;
    const group = (yield* await deps.balancer.group(revision, retry))?.TargetGroupArn;
    if (group !== undefined && (yield* await detach(deps, group, options, retry)) === "serves")
      return ok("serves" as const);
    // A drained revision was already stopped.
    if (group === undefined || drain === 0) yield* await stop(deps, revision, retry);
    return deps.services.forget(familyOf(owner, revision), retry).map(() => "deleted" as const);
  });
