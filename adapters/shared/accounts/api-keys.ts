/**
 * API keys on top of any store of key records. The store contains a hash and the prefix of each key. Comparing two
 * hashes takes constant time.
 */
import { hash, timingSafeEqual } from "node:crypto";
import type { AccountId, Principal } from "../../../core/domain/accounts/account.ts";
import { type Instant, plusMillis, timestampOf } from "../../../core/domain/wire/instant.ts";
import { notFound, type Unavailable, unauthenticated } from "../../../core/errors.ts";
import type { ApiKey, ApiKeys, Authenticator } from "../../../core/ports/authenticator.ts";
import type { Clock, Ids, Logger } from "../../../core/ports/system.ts";
import { errAsync, okAsync, ResultAsync } from "../../../core/result.ts";
import { storeUnavailable } from "../runtime/disk-fault.ts";
import type { KeyRecord, KeyRecords } from "./key-record.ts";

const SECRET_LENGTH = 40;
const PREFIX_LENGTH = "psk_".length + 8;
const SHAPE = /^psk_[A-Za-z0-9]{40}$/;
/** How long an authenticated key stays in the cache, in milliseconds. A revocation on this replica clears the cache. */
const CACHE_MS = 10_000;
const CACHE_SIZE = 10_000;
/** Minimum milliseconds between two updates of a key's `lastUsedAt`. */
const USED_MS = 60_000;

export interface ApiKeyDeps {
  readonly records: KeyRecords;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

const UNKNOWN = unauthenticated("The API key is not valid. Create one with 'portside keys create'.");

const digest = (key: string): string => hash("sha256", key, "hex");

const sameHash = (a: string, b: string): boolean => timingSafeEqual(Buffer.from(a, "hex"), Buffer.from(b, "hex"));

const listed = ({ hash: _hash, ...record }: KeyRecord): ApiKey => record;

const stored = <T>(work: Promise<T>) =>
  ResultAsync.fromPromise(work, (cause) => storeUnavailable("The API key store does not respond. Try again.", cause));

interface Recognised {
  readonly principal: Principal;
  readonly until: Instant;
}

export interface LiveKeys {
  /** Returns whether the account has the key. A revocation on another replica takes effect within 10 seconds. */
  isLive(account: AccountId, id: string): ResultAsync<boolean, Unavailable>;
  /** Returns whether the account has the key, without a cache. */
  has(account: AccountId, id: string): ResultAsync<boolean, Unavailable>;
}

export const createApiKeys = ({ records, clock, ids, logger }: ApiKeyDeps): ApiKeys & Authenticator & LiveKeys => {
  const recognised = new Map<string, Recognised>();
  /** Expiry of the cached result of `isLive`, by account and id. */
  const live = new Map<string, Instant>();
  /** The earliest time of the next update of `lastUsedAt`, by id. */
  const noteAt = new Map<string, Instant>();
  let revocations = 0;

  /** Clears the caches. Results of lookups in progress must not be cached either: they may contain the revoked key. */
  const forget = (): void => {
    revocations++;
    recognised.clear();
    live.clear();
  };

  const noteUse = (id: string, now: Instant): void => {
    const next = noteAt.get(id);
    if (next !== undefined && next > now) return;
    noteAt.set(id, plusMillis(now, USED_MS));
    records
      .used(id, timestampOf(now))
      .catch((cause) => logger.warn("could not record the last use of a key", { id, cause }));
  };

  const remember = (hashed: string, principal: Principal, now: Instant): void => {
    if (recognised.size >= CACHE_SIZE) recognised.clear();
    recognised.set(hashed, { principal, until: plusMillis(now, CACHE_MS) });
  };

  const has = (account: AccountId, id: string): ResultAsync<boolean, Unavailable> =>
    stored(records.ofAccount(account)).map((own) => own.some((record) => record.id === id));

  const isLive = (account: AccountId, id: string): ResultAsync<boolean, Unavailable> => {
    const now = clock.now();
    const key = JSON.stringify([account, id]);
    if ((live.get(key) ?? now) > now) return okAsync(true);
    const seen = revocations;
    return has(account, id).map((found) => {
      if (!found || seen !== revocations) return found;
      if (live.size >= CACHE_SIZE) live.clear();
      live.set(key, plusMillis(now, CACHE_MS));
      return true;
    });
  };

  return {
    isLive,
    has,

    authenticate: ({ value: key }) => {
      if (!SHAPE.test(key)) return errAsync(UNKNOWN);
      const hashed = digest(key);
      const known = recognised.get(hashed);
      const now = clock.now();
      if (known !== undefined && known.until > now) {
        noteUse(known.principal.credentialId, now);
        return okAsync(known.principal);
      }
      const seen = revocations;
      return stored(records.withPrefix(key.slice(0, PREFIX_LENGTH))).andThen((candidates) => {
        const record = candidates.find((candidate) => sameHash(candidate.hash, hashed));
        if (record === undefined) return errAsync(UNKNOWN);
        const principal: Principal = { account: record.account, credentialId: record.id, credentialKind: "key" };
        if (seen === revocations) remember(hashed, principal, now);
        noteUse(record.id, now);
        return okAsync(principal);
      });
    },

    create: (account, label) => {
      const key = `psk_${ids.secret(SECRET_LENGTH)}`;
      const record: KeyRecord = {
        id: ids.id(),
        account,
        label,
        prefix: key.slice(0, PREFIX_LENGTH),
        hash: digest(key),
        createdAt: timestampOf(clock.now()),
        lastUsedAt: null,
      };
      return stored(records.insert(record)).map(() => ({ ...listed(record), key }));
    },

    list: (account) => stored(records.ofAccount(account)).map((own) => own.map(listed)),

    revoke: (account, id) => {
      forget();
      return stored(records.remove(account, id)).andThen((had) => {
        forget();
        return had ? okAsync(undefined) : errAsync(notFound(`Your account has no key '${id}'.`));
      });
    },
  };
};
