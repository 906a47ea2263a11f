/**
 * Deployment records in the state bucket: `services/NAME.json`, one per name, across all accounts.
 *
 * To list an account's deployments, Portside reads:
 * - all names that the account has used (`owners/DIGEST/NAME`, written before the record)
 * - the ETags of all records (one call per thousand)
 * - a cache of the account's records (`lists/DIGEST.json`)
 *
 * Portside then reads the records whose ETags have changed, and rewrites the cache. A cache entry counts only if its
 * ETag matches, so the cache may be stale.
 */
import { z } from "zod";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import type { Unavailable } from "../../../../core/errors.ts";
import { ok, ResultAsync, safeTry } from "../../../../core/result.ts";
import { inParallel } from "../../../cloud/calls/in-parallel.ts";
import { accountDigest } from "../../../shared/accounts/account-digest.ts";
import type { Called, RetryOptions } from "../../call-policy.ts";
import { parseJson } from "../../state/parse-json.ts";
import type { PutCondition, StateBucket } from "../../state/state-bucket.ts";
import { type HeldRecord, type NameRecord, parseRecord, renderRecord } from "./record.ts";

/** The object with a name's record, and the object's ETag for conditional writes. */
export type Found =
  | { readonly kind: "none" }
  /** An object that is not a Portside record. */
  | { readonly kind: "foreign" }
  | { readonly kind: "ours"; readonly record: NameRecord; readonly objectEtag: string };

export interface Records {
  read(name: DeploymentName, retry?: RetryOptions): ResultAsync<Found, Unavailable>;
  /** Writes if `found` is still current. Otherwise fails with `changed` or `not_found`. */
  write(name: DeploymentName, record: NameRecord, found: Found, retry?: RetryOptions): Called<string>;
  /**
   * Records that the account may have a deployment of this name. The caller must do this before it writes the
   * deployment's record.
   */
  addToIndex(owner: AccountId, name: DeploymentName, retry?: RetryOptions): Called<unknown>;
  list(owner: AccountId, retry?: RetryOptions): ResultAsync<readonly HeldRecord[], Unavailable>;
}

/** The prefix of all records. */
export const RECORDS = "services/";
const SUFFIX = ".json";
/** Maximum concurrent reads. */
const CONCURRENCY = 20;
/**
 * Marks the records of freed names and of removed domains, and the marks of removed images. The bucket's lifecycle rule
 * deletes objects with this tag eight days after their last write, when the reservation of a freed name has ended
 * (docs/providers/aws-template.yaml).
 */
export const FREED_TAG = "portside-state=freed";

/** Returns the name of the deployment whose record has this key. */
export const nameInKey = (key: string): string => key.slice(RECORDS.length, -SUFFIX.length);

const keyOf = (name: string): string => `${RECORDS}${name}${SUFFIX}`;
const ownersOf = (owner: AccountId): string => `owners/${accountDigest(owner)}/`;
const listOf = (owner: AccountId): string => `lists/${accountDigest(owner)}${SUFFIX}`;

/** A cache entry: the name, the ETag, and the record's text. */
const cacheSchema = z.array(z.tuple([z.string(), z.string(), z.string()]));
type CacheEntries = z.output<typeof cacheSchema>;

const cachedIn = (text: string): CacheEntries => cacheSchema.safeParse(parseJson(text)).data ?? [];

export const createRecords = (bucket: StateBucket): Records => {
  const conditionOf = (found: Found): PutCondition => (found.kind === "ours" ? { etag: found.objectEtag } : "absent");

  const readAll = (names: readonly string[], retry: RetryOptions | undefined): ResultAsync<CacheEntries, Unavailable> =>
    inParallel(names, CONCURRENCY, (name) =>
      bucket
        .get(keyOf(name), retry)
        .map((object): CacheEntries => (object === null ? [] : [[name, object.etag, object.text]])),
    ).map((entries) => entries.flat());

  const writeCache = async (owner: AccountId, cacheEntries: CacheEntries, retry?: RetryOptions): Promise<void> => {
    // Best effort: if it fails, the next listing reads the same records again.
    await bucket.put(listOf(owner), JSON.stringify(cacheEntries), "any", "", { ...retry, timeoutMs: 0 }).unwrapOr("");
  };

  return {
    read: (name, retry) =>
      bucket.get(keyOf(name), retry).map((object): Found => {
        if (object === null) return { kind: "none" };
        const record = parseRecord(name, object.text);
        return record === undefined ? { kind: "foreign" } : { kind: "ours", record, objectEtag: object.etag };
      }),

    write: (name, record, found, retry) => {
      const tags = record.kind === "freed" ? FREED_TAG : "";
      return bucket.put(keyOf(name), renderRecord(record), conditionOf(found), tags, retry);
    },

    addToIndex: (owner, name, retry) => bucket.put(`${ownersOf(owner)}${name}`, "{}", "any", "", retry),

    list: (owner, retry) =>
      safeTry(async function* () {
        const [ownNames, all, cached] = yield* await ResultAsync.combine([
          bucket.list(ownersOf(owner), retry),
          bucket.list(RECORDS, retry),
          bucket.get(listOf(owner), retry),
        ]);
        const names = new Set(ownNames.map(({ key }) => key.slice(ownersOf(owner).length)));
        const known = new Map(cachedIn(cached?.text ?? "").map((one) => [one[0], one]));
        const present = all
          .map(({ key, etag }) => ({ name: nameInKey(key), etag }))
          .filter(({ name }) => names.has(name));
        const same = present.flatMap(({ name, etag }) => {
          const one = known.get(name);
          return one?.[1] === etag ? [one] : [];
        });
        const unchanged = new Set(same.map(([name]) => name));
        const changed = present.flatMap(({ name }) => (unchanged.has(name) ? [] : [name]));
        const read = yield* await readAll(changed, retry);
        const cacheEntries = [...same, ...read];
        if (read.length > 0) await writeCache(owner, cacheEntries, retry);
        const records = cacheEntries.flatMap(([name, , text]) => parseRecord(name, text) ?? []);
        return ok(records.filter((one): one is HeldRecord => one.kind === "held" && one.attempted.owner === owner));
      }),
  };
};
