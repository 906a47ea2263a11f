/**
 * The installation's load balancers. One carries about a hundred target groups, so the stack may have several. A
 * deployment keeps its load balancer, and so its URL, for life. Pure.
 */
import type { SharedResources } from "../config.ts";
import type { ForwardRule } from "./balancer.ts";
import { isOwnGroup } from "./records/names.ts";

/**
 * A load balancer can have 100 target groups, and a rollout needs a second one:
 * https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-limits.html
 */
const DEPLOYMENTS_PER_BALANCER = 50;

/** True if a load balancer with so many deployments can take another one. */
export const hasRoom = (deployments: number): boolean => deployments < DEPLOYMENTS_PER_BALANCER;

/** Returns the number of deployments with these rules. A rollout counts too: it has a rule until it ends. */
export const deploymentsIn = (rules: readonly ForwardRule[]): number =>
  rules.filter(({ targets }) => targets.some(({ group }) => isOwnGroup(group))).length;

/**
 * Returns the shared resources as each load balancer's deployments use them. The first serves `NAME.DOMAIN`, the second
 * `NAME.2.DOMAIN`. No deployment has such a label, because names begin with a letter.
 */
export const sharedByBalancer = (shared: SharedResources): readonly SharedResources[] =>
  [shared.listenerArn, ...(shared.moreListenerArns ?? [])].map((listenerArn, index) => ({
    ...shared,
    listenerArn,
    domain: index === 0 ? shared.domain : `${index + 1}.${shared.domain}`,
  }));

/**
 * Returns the index of the load balancer of a new deployment: the first with room, else the one with the fewest
 * deployments.
 *
 * @param counts the number of each load balancer's deployments; not empty
 */
export const balancerForNew = (counts: readonly number[]): number => {
  const withRoom = counts.findIndex(hasRoom);
  return withRoom >= 0 ? withRoom : counts.indexOf(Math.min(...counts));
};
