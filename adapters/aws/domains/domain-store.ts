/** `DomainStore` on AWS. A change that affects routes returns only after the load balancer's rules have changed. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { CustomDomain, StoredDomain } from "../../../core/domain/domains/domain.ts";
import type { DomainName } from "../../../core/domain/domains/domain-name.ts";
import { type Conflict, conflict, type Unavailable } from "../../../core/errors.ts";
import type { DomainStore } from "../../../core/ports/domain-store.ts";
import type { Ids } from "../../../core/ports/system.ts";
import { err, ok, type Result, type ResultAsync, safeTry } from "../../../core/result.ts";
import { ownershipProof } from "../../shared/domains/ownership-proof.ts";
import type { RetryOptions } from "../call-policy.ts";
import type { DigestKey } from "../deploy/records/digest-key.ts";
import {
  afterRemoval,
  afterWrite,
  type DomainObject,
  isRouted,
  isSameDeployment,
  leavesRule,
  storedOf,
} from "./domain-object.ts";
import type { Leftovers } from "./leftovers.ts";
import { clearFormerRoutes } from "./routes.ts";
import { type ServeDeps, serveDomain } from "./serve-domain.ts";

export interface DomainStoreDeps extends ServeDeps {
  readonly leftovers: Pick<Leftovers, "start">;
  /** Receives the objects of the domains that `list` returns. */
  readonly listed: Pick<WeakMap<CustomDomain, DomainObject>, "set">;
  readonly proofKey: DigestKey;
  readonly ids: Ids;
}

type Expected = Parameters<DomainStore["write"]>[1];

const changed = (domain: DomainName): Conflict =>
  conflict(`The domain '${domain}' was changed by another request. Try again.`);

const isExpected = (found: DomainObject | null, expected: Expected): boolean => {
  const present = found === null ? null : storedOf(found);
  return expected === "absent" ? present === null : present?.etag === expected.etag;
};

/** A write, with the object that it replaced. */
interface Written {
  readonly before: DomainObject | null;
  readonly after: DomainObject | null;
}

/** @param write the id of the write: after a lost response, the next attempt finds it in the object */
const writeObject = (
  { objects }: DomainStoreDeps,
  domain: DomainName,
  expected: Expected,
  write: string,
  change: (found: DomainObject | null) => DomainObject | null,
  retry: RetryOptions,
): ResultAsync<Written, Conflict | Unavailable> => {
  let before: DomainObject | null = null;
  const decide = (found: DomainObject | null): Result<DomainObject | null, Conflict> => {
    if (found?.write === write) return ok(found);
    if (!isExpected(found, expected)) return err(changed(domain));
    before = found;
    return ok(change(found));
  };
  return objects.update(domain, decide, retry).map((after) => ({ before, after }));
};

/** Changes the load balancers' rules after a write that added, moved or removed a route. First adds the new route. */
const moveRoutes = (
  deps: DomainStoreDeps,
  { before, after }: Written,
  retry: RetryOptions,
): ResultAsync<void, Unavailable> =>
  safeTry(async function* () {
    if (after === null) return ok(undefined);
    const isSame = before !== null && isRouted(before) && isSameDeployment(before.domain, after.domain);
    if (isRouted(after) && !isSame) yield* await serveDomain(deps, after, retry);
    yield* await clearFormerRoutes(deps, after, retry);
    return ok(undefined);
  });

export const createAwsDomainStore = (deps: DomainStoreDeps): DomainStore => {
  const { objects, clock, ids, leftovers, listed, proofKey } = deps;

  const listedOf = (object: DomainObject): readonly StoredDomain[] => {
    const stored = storedOf(object);
    if (stored === null) return [];
    listed.set(stored, object);
    return [stored];
  };

  const write = (
    domain: CustomDomain,
    expected: Expected,
    retry: RetryOptions,
  ): ResultAsync<StoredDomain, Conflict | Unavailable> =>
    safeTry(async function* () {
      const { owner, name, status, detail, createdAt, checkedAt } = domain;
      // The caller may pass a `StoredDomain`.
      const own: CustomDomain = { domain: domain.domain, owner, name, status, detail, createdAt, checkedAt };
      const etag = ids.id();
      yield* await objects.addToIndex(owner, domain.domain, retry);
      const present = yield* await objects.read(domain.domain, retry);
      // If the process ends here, the next start removes the domain from the rule of the former deployment.
      const leaves = present !== null && leavesRule(present, own);
      if (leaves) yield* await objects.mark(domain.domain, retry);
      const change = (found: DomainObject | null) => afterWrite(found, own, etag);
      const written = yield* await writeObject(deps, domain.domain, expected, etag, change, retry);
      if (leaves) leftovers.start(domain.domain);
      yield* await moveRoutes(deps, written, retry);
      return ok({ ...own, etag });
    });

  const remove = (
    domain: DomainName,
    expected: Expected,
    retry: RetryOptions,
  ): ResultAsync<void, Conflict | Unavailable> =>
    safeTry(async function* () {
      const removal = ids.id();
      yield* await objects.mark(domain, retry);
      const change = (found: DomainObject | null) => found && afterRemoval(found, removal, clock.now());
      const written = yield* await writeObject(deps, domain, expected, removal, change, retry);
      leftovers.start(domain);
      return moveRoutes(deps, written, retry);
    });

  return {
    find: (domain, options = {}) =>
      objects.read(domain, options).map((found) => (found === null ? null : storedOf(found))),

    list: (owner: AccountId, options = {}) =>
      objects.list(owner, options).map((all) => all.flatMap(listedOf).sort((a, b) => (a.domain < b.domain ? -1 : 1))),

    write: (domain, expected, options = {}) => write(domain, expected, options),
    remove: (domain, expected, options = {}) => remove(domain, expected, options),

    proof: (owner, domain, options = {}) =>
      proofKey(options).map((key) => ownershipProof({ id: "aws", key }, owner, domain)),
  };
};
