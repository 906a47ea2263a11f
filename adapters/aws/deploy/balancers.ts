/**
 * Assigns deployments to the installation's load balancers. A load balancer can have a hundred target groups, so the
 * stack may create several load balancers. A deployment keeps its load balancer, and therefore its URL, until the
 * deployment is deleted. Pure.
 */
import type { SharedResources } from "../config.ts";
import type { ForwardRule } from "./balancer.ts";
import { isOwnGroup } from "./records/names.ts";

/**
 * A load balancer can have 100 target groups, and a deployment needs a second target group during a rollout:
 * https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
 */
const DEPLOYMENTS_PER_BALANCER = 50;

/** Returns whether a load balancer with this number of deployments can take another deployment. */
export const hasRoom = (deployments: number): boolean => deployments < DEPLOYMENTS_PER_BALANCER;

/** Counts the deployments that have these rules. A running rollout adds a rule, and counts as one more deployment. */
export const deploymentsIn = (rules: readonly ForwardRule[]): number =>
  rules.filter(({ targets }) => targets.some(({ group }) => isOwnGroup(group))).length;

/**
 * Returns the shared resources for the deployments of each load balancer. The first load balancer serves `NAME.DOMAIN`,
 * and the second serves `NAME.2.DOMAIN`. The numbers cannot collide with deployments, whose names begin with a letter.
 */
export const sharedByBalancer = (shared: SharedResources): readonly SharedResources[] =>
  [shared.listenerArn, ...(shared.moreListenerArns ?? [])].map((listenerArn, index) => ({
    ...shared,
    listenerArn,
    domain: index === 0 ? shared.domain : `${index + 1}.${shared.domain}`,
  }));

/**
 * Returns the index of the load balancer for a new deployment: the first with room, otherwise the one with the fewest
 * deployments.
 *
 * @param counts the number of deployments of each load balancer; not empty
 */
export const balancerForNew = (counts: readonly number[]): number => {
  const withRoom = counts.findIndex(hasRoom);
  return withRoom >= 0 ? withRoom : counts.indexOf(Math.min(...counts));
};
