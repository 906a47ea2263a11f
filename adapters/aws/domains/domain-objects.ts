/** Reads and writes the domains in the state bucket. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { DomainName } from "../../../core/domain/domains/domain-name.ts";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { Clock, Logger } from "../../../core/ports/system.ts";
import { err, ok, type Result, type ResultAsync, safeTry } from "../../../core/result.ts";
import { inParallel } from "../../cloud/calls/in-parallel.ts";
import { accountDigest } from "../../shared/accounts/account-digest.ts";
import { isState, type RetryOptions, throwState } from "../call-policy.ts";
import { FREED_TAG } from "../deploy/records/records.ts";
import type { StateBucket } from "../state-bucket.ts";
import { type DomainObject, isObsolete, parseObject, renderObject } from "./domain-object.ts";

/** Returns the new object. Returns the same one, or null, if there is nothing to write. */
export type DomainChange<E> = (found: DomainObject | null) => Result<DomainObject | null, E>;

export interface DomainObjects {
  read(domain: DomainName, retry?: RetryOptions): ResultAsync<DomainObject | null, Unavailable>;
  /** Returns the account's domains without the removed ones, in any order. */
  list(owner: AccountId, retry?: RetryOptions): ResultAsync<readonly DomainObject[], Unavailable>;
  /**
   * Writes a changed object, and returns it. Repeats the change if another call has written the object in the meantime.
   */
  update<E>(
    domain: DomainName,
    change: DomainChange<E>,
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
/** Maximum attempts of a write. */
const TRIES = 20;
const PAUSE_MS = 50;

const keyOf = (domain: DomainName): string => `${DOMAINS}${domain}${SUFFIX}`;
const domainIn = (key: string): DomainName => key.slice(DOMAINS.length, -SUFFIX.length) as DomainName;
const indexOf = (owner: AccountId): string => `domain-owners/${accountDigest(owner)}/`;

interface Seen {
  readonly found: DomainObject | null;
  readonly etag: string;
}

export const createDomainObjects = (
  bucket: StateBucket,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): DomainObjects => {
  const see = (domain: DomainName, retry?: RetryOptions): ResultAsync<Seen, Unavailable> =>
    bucket.get(keyOf(domain), retry).andThen((object) => {
      if (object === null) return ok({ found: null, etag: "" });
      const found = parseObject(object.text);
      if (found !== undefined) return ok({ found, etag: object.etag });
      logger.error("the record of a domain is damaged", { key: keyOf(domain) });
      return err(
        unavailable(
          `The record of '${domain}' is damaged. The operator can find the object's name in the server's log.`,
          60,
        ),
      );
    });

  const read: DomainObjects["read"] = (domain, retry) => see(domain, retry).map(({ found }) => found);

  const put = (key: string, retry?: RetryOptions): ResultAsync<void, Unavailable> =>
    bucket
      .put(key, "{}", "any", "", retry)
      .map(() => undefined)
      .mapErr(throwState);

  /** Returns false if another call has written the object since it was read. */
  const write = (seen: Seen, domain: DomainName, next: DomainObject, retry?: RetryOptions) =>
    safeTry<boolean, Unavailable>(async function* () {
      const condition = seen.found === null ? ("absent" as const) : { etag: seen.etag };
      const tags = isObsolete(next) ? FREED_TAG : "";
      const written = await bucket.put(keyOf(domain), renderObject(next), condition, tags, retry);
      if (isState(written, "changed", "exists", "not_found")) return ok(false);
      return written.map(() => true).mapErr(throwState);
    });

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

    update: <E>(domain: DomainName, change: DomainChange<E>, retry?: RetryOptions) =>
      safeTry<DomainObject | null, E | Unavailable>(async function* () {
        for (let tries = 1; tries <= TRIES; tries++) {
          const seen = yield* await see(domain, retry);
          const next = yield* change(seen.found);
          if (next === seen.found || next === null) return ok(next);
          if (yield* await write(seen, domain, next, retry)) return ok(next);
          if (tries > 1) await clock.sleep(PAUSE_MS * tries, retry?.signal);
        }
        return err(unavailable(`Too many calls change the domain '${domain}'. Try again.`, 5));
      }),

    addToIndex: (owner, domain, retry) => put(`${indexOf(owner)}${domain}`, retry),
    mark: (domain, retry) => put(`${MARKS}${domain}`, retry),
    unmark: (domain, retry) => bucket.remove(`${MARKS}${domain}`, retry),
    marked: (retry) =>
      bucket.list(MARKS, retry).map((all) => all.map(({ key }) => key.slice(MARKS.length) as DomainName)),
  };
};
