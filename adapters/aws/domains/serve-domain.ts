/** Gets the certificate of a domain, and serves it: the steps of `ManagedDomains.advance`. */
import type { CustomDomain } from "../../../core/domain/domains/domain.ts";
import { requestLimits } from "../../../core/domain/domains/order-budget.ts";
import { millisOf, timestampOf } from "../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../core/errors.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import { isCallState } from "../../cloud/calls/provider-call.ts";
import { type RetryOptions, throwState } from "../call-policy.ts";
import { isLimit } from "../deploy/ecs-faults.ts";
import type { Certificates } from "./certificates.ts";
import {
  afterDescription,
  type Certificate,
  type DomainObject,
  isRouted,
  isSameDeployment,
  mayRequest,
  withoutCertificate,
} from "./domain-object.ts";
import type { BudgetUsed, RequestBudget } from "./request-budget.ts";
import { applyRoutes, balancerOf, DOMAINS_PER_DEPLOYMENT, type RouteDeps } from "./routes.ts";

export interface ServeDeps extends RouteDeps {
  readonly certificates: Certificates;
  readonly requests: RequestBudget;
}

/** An object, and why the domain is not served. */
export interface Advanced {
  readonly object: DomainObject | null;
  readonly problem: string | null;
}

type Step<T> = ResultAsync<T, Unavailable>;

/** "There is a delay of several seconds before you can retrieve information" (API_RequestCertificate). */
const DESCRIBE_TRIES = 5;
const DESCRIBE_PAUSE_MS = 1000;
/**
 * How long the idempotency token finds an earlier certificate. Tokens time out after one hour (API_RequestCertificate).
 */
const TOKEN_MS = 50 * 60_000;
/** If Certificate Manager does not know a certificate of this age, the certificate was deleted. */
const KNOWN_AFTER_MS = 10 * 60_000;

const QUOTA = "The operator must ask AWS for a higher quota of certificates, or remove unused ones.";

const budgetUsed = ({ permittedAt }: BudgetUsed): string =>
  `The account has requested the maximum number of certificates, ${requestLimits.requests} in ${requestLimits.days} days. Check the domain again after ${timestampOf(permittedAt)}.`;

const isPresent = (found: DomainObject | null, { owner }: CustomDomain): found is DomainObject =>
  found !== null && found.removedAt === null && found.domain.owner === owner;

/** Returns true unless another call has replaced the certificate or moved the domain. */
const isUnmoved = (object: DomainObject, found: DomainObject | null): found is DomainObject =>
  found !== null && found.certificate?.arn === object.certificate?.arn && isSameDeployment(found.domain, object.domain);

/** Changes the object, unless another call has replaced the certificate or moved the domain. */
const updateObject = (
  { objects }: ServeDeps,
  object: DomainObject,
  change: (found: DomainObject) => DomainObject,
  retry: RetryOptions,
): Step<DomainObject | null> =>
  objects.update<never>(object.domain.domain, (found) => ok(isUnmoved(object, found) ? change(found) : found), retry);

/** Changes the certificate, unless another call has replaced it or moved the domain. */
const updateCertificate = (
  deps: ServeDeps,
  object: DomainObject,
  change: (certificate: Certificate) => Partial<Certificate>,
  retry: RetryOptions,
): Step<DomainObject | null> => {
  const changed = (found: DomainObject): DomainObject => {
    const { certificate } = found;
    return certificate === null ? found : { ...found, certificate: { ...certificate, ...change(certificate) } };
  };
  return updateObject(deps, object, changed, retry);
};

/** Moves a failed or deleted certificate to the leftovers, so that the next step requests another one. */
const discardCertificate = (deps: ServeDeps, object: DomainObject, retry: RetryOptions): Step<DomainObject | null> =>
  safeTry(async function* () {
    const { domain } = object.domain;
    const arn = object.certificate?.arn;
    yield* await deps.objects.mark(domain, retry);
    const change = (found: DomainObject | null) =>
      ok(found?.certificate?.arn === arn && found !== null ? withoutCertificate(found) : found);
    return deps.objects.update<never>(domain, change, retry);
  });

type Requested = { readonly arn: string } | { readonly problem: string };

/** Requests a certificate unless the account has used its budget. Returns the ARN, or the reason why there is none. */
const requestWithinBudget = (
  { certificates, requests }: ServeDeps,
  { domain, owner }: CustomDomain,
  id: string,
  retry: RetryOptions,
): Step<Requested> =>
  requests
    .count(owner, id, retry)
    .andThen(() => certificates.request(domain, id, retry))
    .map((arn): Requested => ({ arn }))
    .orElse((error) => {
      if (error.kind === "budget-used") return ok({ problem: budgetUsed(error) });
      if (!isCallState(error)) return err(error);
      if (!isLimit(error.error)) throw error.error;
      return ok({ problem: `The AWS account's quota of certificates is exhausted. ${QUOTA}` });
    });

const requestCertificate = (deps: ServeDeps, object: DomainObject, retry: RetryOptions): Step<Advanced> =>
  safeTry(async function* () {
    const { certificates, objects, clock } = deps;
    const { domain, createdAt } = object.domain;
    const id = JSON.stringify([domain, createdAt, object.failures]);
    // After a kill between the request and the write, an earlier certificate can exist.
    const since = object.failures === 0 ? Date.parse(createdAt) : object.failedAt;
    const mayExist = millisOf(clock.now()) >= since + TOKEN_MS;
    const known = mayExist ? yield* await certificates.find(domain, id, retry).mapErr(throwState) : undefined;
    const isUsable = known !== undefined && object.leftovers.every(({ arn: unused }) => unused !== known);
    const found = isUsable ? { arn: known } : yield* await requestWithinBudget(deps, object.domain, id, retry);
    if ("problem" in found) return ok({ object, problem: found.problem });
    const { arn } = found;
    const requested: Certificate = {
      arn,
      requestedAt: millisOf(clock.now()),
      state: "pending",
      record: null,
      notAfter: null,
      problem: null,
      listeners: [],
      isServed: false,
    };
    const change = (found: DomainObject | null) =>
      ok(found?.certificate === null && found.removedAt === null ? { ...found, certificate: requested } : found);
    const updated = yield* await objects.update<never>(domain, change, retry);
    return ok({ object: yield* await keepTrack(deps, updated, arn, retry), problem: null });
  });

/** Adds the certificate to the leftovers if the domain has since been removed or got a different certificate. */
const keepTrack = (
  { objects }: ServeDeps,
  object: DomainObject | null,
  arn: string,
  retry: RetryOptions,
): Step<DomainObject | null> =>
  safeTry(async function* () {
    const isKnown = ({ certificate, leftovers }: DomainObject): boolean =>
      certificate?.arn === arn || leftovers.some((one) => one.arn === arn);
    if (object === null || isKnown(object)) return ok(object);
    const { domain } = object.domain;
    yield* await objects.mark(domain, retry);
    const change = (found: DomainObject | null) =>
      ok(
        found === null || isKnown(found)
          ? found
          : { ...found, leftovers: [...found.leftovers, { arn, listeners: [] }] },
      );
    return objects.update<never>(domain, change, retry);
  });

/** Reads the state of the certificate. Waits a few seconds for the CNAME record of a new one. */
const refresh = (deps: ServeDeps, object: DomainObject, retry: RetryOptions): Step<DomainObject | null> =>
  safeTry(async function* () {
    const { certificates, clock } = deps;
    const { certificate } = object;
    if (certificate === null) return ok(object);
    const isNew = certificate.record === null;
    for (let tries = 1; ; tries++) {
      const described = yield* await certificates
        .describe(certificate.arn, object.domain.domain, retry)
        .mapErr(throwState);
      const isOld = millisOf(clock.now()) >= certificate.requestedAt + KNOWN_AFTER_MS;
      if (described === undefined && isOld) return discardCertificate(deps, object, retry);
      const mayCome = isNew && (described === undefined || described.record === null);
      if (mayCome && tries < DESCRIBE_TRIES && retry.signal?.aborted !== true) {
        await clock.sleep(DESCRIBE_PAUSE_MS, retry.signal);
        continue;
      }
      if (described === undefined) return ok(object);
      return updateObject(deps, object, (found) => afterDescription(found, described, clock.now()), retry);
    }
  });

/** Adds the certificate to the listener of the deployment, and the domain to its rule. */
export const serveDomain = (deps: ServeDeps, object: DomainObject, retry: RetryOptions): Step<Advanced> =>
  safeTry(async function* () {
    const { domain, certificate } = object;
    if (certificate === null || !isRouted(object)) return ok({ object, problem: null });
    const own = yield* await balancerOf(deps, domain, retry);
    if (own === undefined) return ok({ object, problem: `The deployment '${domain.name}' does not exist.` });
    const { listenerArn } = own.shared;
    if (!certificate.listeners.includes(listenerArn)) {
      const noted = ({ listeners }: Certificate) => ({ listeners: [...new Set([...listeners, listenerArn])] });
      const now = yield* await updateCertificate(deps, object, noted, retry);
      // If the object does not record the listener, no removal finds it, and the certificate stays in use.
      if (!isUnmoved(object, now)) return ok({ object: now, problem: null });
    }
    const added = await own.balancer.addCertificate(certificate.arn, retry);
    if (added.isErr() && isCallState(added.error)) {
      if (!isLimit(added.error.error)) throw added.error.error;
      return ok({ object, problem: `The load balancer's quota of certificates is exhausted. ${QUOTA}` });
    }
    yield* added.mapErr(throwState);
    const routed = yield* await applyRoutes(deps, domain, retry);
    if (!routed.includes(domain.domain))
      return ok({
        object,
        problem: `The rule of '${domain.name}' cannot route the domain. Deploy '${domain.name}' if it has never served, and use at most ${DOMAINS_PER_DEPLOYMENT} domains for it. Then check the domain again.`,
      });
    const served = yield* await updateCertificate(deps, object, () => ({ isServed: true }), retry);
    return dropOtherListeners(deps, served, listenerArn, retry);
  });

/** Removes the certificate from the load balancers of earlier deployments. */
const dropOtherListeners = (
  deps: ServeDeps,
  object: DomainObject | null,
  kept: string,
  retry: RetryOptions,
): Step<Advanced> =>
  safeTry(async function* () {
    const { arn, listeners } = object?.certificate ?? { arn: "", listeners: [] };
    const others = listeners.filter((listener) => listener !== kept);
    if (object === null || others.length === 0) return ok({ object, problem: null });
    yield* await detach(deps, arn, others, retry);
    const noted = (now: Certificate) => ({ listeners: now.listeners.filter((one) => !others.includes(one)) });
    return ok({ object: yield* await updateCertificate(deps, object, noted, retry), problem: null });
  });

/** Removes a certificate from listeners. Ignores listeners that are no longer in the configuration. */
export const detach = (
  { balancers }: RouteDeps,
  arn: string,
  listeners: readonly string[],
  retry: RetryOptions,
): Step<void> =>
  safeTry(async function* () {
    for (const { shared, balancer } of balancers)
      if (listeners.includes(shared.listenerArn))
        yield* await balancer.removeCertificate(arn, retry).mapErr(throwState);
    return ok(undefined);
  });

/**
 * Performs the next steps towards a served certificate. Replaces a failed certificate only if the DNS records of the
 * domain are correct and the pause after the failure has ended.
 */
export const advanceDomain = (deps: ServeDeps, domain: CustomDomain, retry: RetryOptions): Step<Advanced> =>
  safeTry(async function* () {
    const { objects, clock } = deps;
    let object = yield* await objects.read(domain.domain, retry);
    if (!isPresent(object, domain)) return ok({ object: null, problem: null });
    if (object.certificate?.state === "failed" && domain.status !== "pending" && mayRequest(object, clock.now()))
      object = yield* await discardCertificate(deps, object, retry);
    if (!isPresent(object, domain)) return ok({ object: null, problem: null });
    if (object.certificate === null) {
      const requested = yield* await requestCertificate(deps, object, retry);
      if (requested.problem !== null || !isPresent(requested.object, domain)) return ok(requested);
      object = requested.object;
    }
    object = yield* await refresh(deps, object, retry);
    return isPresent(object, domain) ? serveDomain(deps, object, retry) : ok({ object: null, problem: null });
  });
