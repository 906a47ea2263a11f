/** Reads and writes the domains in the state bucket. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { DomainName } from "../../../core/domain/domains/domain-name.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import { ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import { inParallel } from "../../cloud/calls/in-parallel.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { type RetryOptions, throwState } from "../call-policy.ts";
import { FREED_TAG } from "../deploy/records/records.ts";
import { createSharedObjects, type ObjectChange, type ObjectFormat } from "../state/shared-objects.ts";
import type { StateBucket } from "../state/state-bucket.ts";
import { type DomainObject, isObsolete, parseObject, renderObject } from "./domain-object.ts";

export interface DomainObjects {
  read(domain: DomainName, retry?: RetryOptions): ResultAsync<DomainObject | null, Unavailable>;
  /** Returns the account's domains without the removed ones, in any order. */
  list(owner: AccountId, retry?: RetryOptions): ResultAsync<readonly DomainObject[], Unavailable>;
  /**
   * Writes a changed object, and returns it. Repeats the change if another call has written the object in the meantime.
   */
  update<E>(
    domain: DomainName,
    change: ObjectChange<DomainObject, E>,
    retry?: RetryOptions,
  ): ResultAsync<DomainObject | null, E | Unavailable>;
  /** Records that the account may have the domain. The caller must do this before it writes the domain. */
  addToIndex(owner: AccountId, domain: DomainName, retry?: RetryOptions): ResultAsync<void, Unavailable>;
  /**
   * Records that the domain has certificates to delete, or may be in the rules of former deployments. The caller must
   * do this before it writes the object.
   */
  mark(domain: DomainName, retry?: RetryOptions): ResultAsync<void, Unavailable>;
  unmark(domain: DomainName, retry?: RetryOptions): ResultAsync<void, Unavailable>;
  marked(retry?: RetryOptions): ResultAsync<readonly DomainName[], Unavailable>;
}

const DOMAINS = "domains/";
const MARKS = "domain-leftovers/";
const SUFFIX = ".json";
/** Maximum concurrent reads. */
const CONCURRENCY = 20;

const keyOf = (domain: DomainName): string => `${DOMAINS}${domain}${SUFFIX}`;
const domainIn = (key: string): DomainName => key.slice(DOMAINS.length, -SUFFIX.length) as DomainName;
const indexOf = (owner: AccountId): string => `domain-owners/${accountDigest(owner)}/`;

const format: ObjectFormat<DomainObject> = {
  name: (key) => `the record of '${domainIn(key)}'`,
  parse: parseObject,
  render: renderObject,
  tags: (object) => (isObsolete(object) ? FREED_TAG : ""),
};

export const createDomainObjects = (
  bucket: StateBucket,
  runtime: { readonly clock: Clock; readonly logger: Logger },
): DomainObjects => {
  const objects = createSharedObjects(bucket, format, runtime);
  const read: DomainObjects["read"] = (domain, retry) => objects.read(keyOf(domain), retry);

  const put = (key: string, retry?: RetryOptions): ResultAsync<void, Unavailable> =>
    bucket
      .put(key, "{}", "any", "", retry)
      .map(() => undefined)
      .mapErr(throwState);

  return {
    read,

    list: (owner, retry) =>
      safeTry(async function* () {
        const index = indexOf(owner);
        const own = yield* await bucket.list(index, retry);
        if (own.length === 0) return ok([]);
        // The index also contains domains that the account no longer has.
        const present = new Set((yield* await bucket.list(DOMAINS, retry)).map(({ key }) => domainIn(key)));
        const domains = own.map(({ key }) => key.slice(index.length) as DomainName).filter((one) => present.has(one));
        const found = yield* await inParallel(domains, CONCURRENCY, (domain) => read(domain, retry));
        return ok(found.filter((one): one is DomainObject => one?.removedAt === null && one.domain.owner === owner));
      }),

    update: (domain, change, retry) => objects.update(keyOf(domain), change, retry),

    addToIndex: (owner, domain, retry) => put(`${indexOf(owner)}${domain}`, retry),
    mark: (domain, retry) => put(`${MARKS}${domain}`, retry),
    unmark: (domain, retry) => bucket.remove(`${MARKS}${domain}`, retry),
    marked: (retry) =>
      bucket.list(MARKS, retry).map((all) => all.map(({ key }) => key.slice(MARKS.length) as DomainName)),
  };
};
