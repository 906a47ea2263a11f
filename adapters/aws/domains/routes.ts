/**
 * Routes domains to deployments. The listener rule of a deployment's host also contains the deployment's domains. A
 * rollout therefore moves the requests for all of them with one change to one rule.
 */
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { Clock } from "../../../core/ports/system.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import { isState, type RetryOptions, throwState } from "../call-policy.ts";
import type { SharedResources } from "../config.ts";
import { type Balancer, HOSTS_PER_RULE } from "../deploy/balancer.ts";
import { hostOf } from "../deploy/records/names.ts";
import type { Records } from "../deploy/records/records.ts";
import { heldIn } from "../deploy/records/writes.ts";
import { type Deployment, type DomainObject, isRouted, isSameDeployment } from "./domain-object.ts";
import type { DomainObjects } from "./domain-objects.ts";

/** The maximum number of domains of a deployment. Its rule also has the deployment's own host. */
export const DOMAINS_PER_DEPLOYMENT = HOSTS_PER_RULE - 1;

/** A load balancer with the deployments that it serves. */
export interface DomainBalancer {
  readonly shared: SharedResources;
  readonly balancer: Balancer;
  /** The DNS name. */
  readonly host: string;
}

export interface RouteDeps {
  readonly objects: DomainObjects;
  readonly records: Records;
  readonly balancers: readonly [DomainBalancer, ...DomainBalancer[]];
  readonly clock: Clock;
}

const TRIES = 5;
const PAUSE_MS = 200;

/** Returns the load balancer of a deployment; undefined if the account has no such deployment. */
export const balancerOf = (
  { records, balancers }: RouteDeps,
  { owner, name }: Deployment,
  retry: RetryOptions,
): ResultAsync<DomainBalancer | undefined, Unavailable> =>
  records.read(name, retry).map((found) => {
    const held = heldIn(found);
    return held === undefined || held.attempted.owner !== owner ? undefined : balancers[held.balancer];
  });

/** Returns the domains that the rule must have: the oldest ones, because a rule has room for only a few. */
const routedDomains = (
  { objects }: RouteDeps,
  { owner, name }: Deployment,
  retry: RetryOptions,
): ResultAsync<readonly string[], Unavailable> =>
  objects.list(owner, retry).map((all) =>
    all
      .filter((one) => one.domain.name === name && isRouted(one))
      .sort((a, b) => (a.domain.createdAt + a.domain.domain < b.domain.createdAt + b.domain.domain ? -1 : 1))
      .slice(0, DOMAINS_PER_DEPLOYMENT)
      .map(({ domain }) => domain.domain),
  );

const isEqual = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((host) => other.includes(host));

/** Gives the rule of the first host exactly these hosts. Returns false if there is no such rule. */
const setRuleHosts = (
  balancer: Balancer,
  hosts: readonly [string, ...string[]],
  retry: RetryOptions,
): ResultAsync<boolean, Unavailable> =>
  safeTry(async function* () {
    const rules = yield* await balancer.rules(retry).mapErr(throwState);
    const rule = rules.find((one) => one.hosts.includes(hosts[0]));
    if (rule === undefined) return ok(false);
    if (isEqual(rule.hosts, hosts)) return ok(true);
    const changed = await balancer.setHosts(rule.arn, hosts, retry);
    if (isState(changed, "not_found")) return ok(false);
    return changed.mapErr(throwState).map(() => true);
  });

/**
 * Sets the deployment's rule to exactly the domains that it must have, and returns them. Returns an empty list if the
 * deployment does not exist or has never served. Reads the domains again after each change, so that the rule is correct
 * after concurrent calls.
 */
export const applyRoutes = (
  deps: RouteDeps,
  deployment: Deployment,
  retry: RetryOptions = {},
): ResultAsync<readonly string[], Unavailable> =>
  safeTry(async function* () {
    const own = yield* await balancerOf(deps, deployment, retry);
    if (own === undefined) return ok([]);
    const host = hostOf(own.shared, deployment.name);
    let domains = yield* await routedDomains(deps, deployment, retry);
    for (let tries = 0; tries < TRIES; tries++) {
      const isApplied = yield* await setRuleHosts(own.balancer, [host, ...domains], retry);
      if (!isApplied) return ok([]);
      const now = yield* await routedDomains(deps, deployment, retry);
      if (isEqual(domains, now)) return ok(domains);
      domains = now;
      await deps.clock.sleep(PAUSE_MS * tries, retry.signal);
    }
    return err(unavailable(`Too many calls change the domains of '${deployment.name}'. Try again.`, 5));
  });

/** Removes the domain from the rules of its former deployments. */
export const clearFormerRoutes = (
  deps: RouteDeps,
  object: DomainObject,
  retry: RetryOptions = {},
): ResultAsync<DomainObject | null, Unavailable> =>
  safeTry(async function* () {
    const { domain, formerRoutes } = object;
    if (formerRoutes.length === 0) return ok(object);
    for (const former of formerRoutes) yield* await applyRoutes(deps, former, retry);
    const isCleared = (one: Deployment): boolean => formerRoutes.some((former) => isSameDeployment(former, one));
    const change = (found: DomainObject | null) =>
      ok(found && { ...found, formerRoutes: found.formerRoutes.filter((one) => !isCleared(one)) });
    return deps.objects.update<never>(domain.domain, change, retry);
  });
