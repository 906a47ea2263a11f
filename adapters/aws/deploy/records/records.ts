/**
 * Deployment records in the state bucket: `services/NAME.json`, one per name, across all accounts.
 *
 * Listing an account's deployments takes three reads: the names it ever had (`owners/DIGEST/NAME`, written before the
 * record), every record's ETag (one call per thousand), and `lists/DIGEST.json`, a cache of the account's records from the
 * last list. Records whose ETag has changed are read one by one, and the cache is rewritten. An entry counts only if its
 * ETag matches, so the cache may be stale.
 */
import { z } from "zod";
import type { AccountId } from "../../../../core/domain/accounts/account.ts";
import type { DeploymentName } from "../../../../core/domain/wire/names.ts";
import type { Unavailable } from "../../../../core/errors.ts";
import { err, ok, type Result } from "../../../../core/result.ts";
import { accountDigest } from "../../../shared/accounts/account-digest.ts";
import type { CallState } from "../../../shared/calls/provider-call.ts";
import type { PutCondition, RetryOptions, StateBucket } from "../../state-bucket.ts";
import { type HeldRecord, type NameRecord, parseRecord, renderRecord } from "./record.ts";

/** What is stored under a name, and the object's ETag for S3's conditions. */
export type Found =
  | { readonly kind: "none" }
  /** An object that is not a Portside record. */
  | { readonly kind: "foreign" }
  | { readonly kind: "ours"; readonly record: NameRecord; readonly objectEtag: string };

export interface Records {
  read(name: DeploymentName, retry?: RetryOptions): Promise<Result<Found, Unavailable>>;
  /** Writes if `found` is still current. Otherwise fails with `changed` or `not_found`. */
  write(
    name: DeploymentName,
    record: NameRecord,
    found: Found,
    retry?: RetryOptions,
  ): Promise<Result<string, CallState | Unavailable>>;
  /** Records that the account may have a deployment of this name. Must precede the record. */
  point(
    owner: AccountId,
    name: DeploymentName,
    retry?: RetryOptions,
  ): Promise<Result<unknown, CallState | Unavailable>>;
  list(owner: AccountId, retry?: RetryOptions): Promise<Result<readonly HeldRecord[], Unavailable>>;
}

const SERVICES = "services/";
const SUFFIX = ".json";
/** Concurrent reads. */
const AT_ONCE = 20;
/** The bucket's lifecycle deletes objects with this tag some time after the name is free again (docs/providers/aws-template.yaml). */
export const FREED_TAG = "portside-state=freed";

const keyOf = (name: string): string => `${SERVICES}${name}${SUFFIX}`;
const ownersOf = (owner: AccountId): string => `owners/${accountDigest(owner)}/`;
const listOf = (owner: AccountId): string => `lists/${accountDigest(owner)}${SUFFIX}`;

/** A cache entry: name, ETag, and the record's text. */
const keptSchema = z.array(z.tuple([z.string(), z.string(), z.string()]));
type Kept = z.output<typeof keptSchema>;

const keptIn = (text: string): Kept => {
  try {
    const parsed = keptSchema.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : [];
  } catch {
    return [];
  }
};

export const createRecords = (bucket: StateBucket): Records => {
  const conditionOf = (found: Found): PutCondition => (found.kind === "ours" ? { etag: found.objectEtag } : "absent");

  const readAll = async (names: readonly string[], retry: RetryOptions): Promise<Result<Kept, Unavailable>> => {
    const kept: Kept = [];
    for (let from = 0; from < names.length; from += AT_ONCE) {
      const some = names.slice(from, from + AT_ONCE);
      const read = await Promise.all(some.map((name) => bucket.get(keyOf(name), retry)));
      for (const [index, one] of read.entries()) {
        if (one.isErr()) return err(one.error);
        if (one.value !== null) kept.push([some[index] as string, one.value.etag, one.value.text]);
      }
    }
    return ok(kept);
  };

  const remember = async (owner: AccountId, kept: Kept, retry: RetryOptions): Promise<void> => {
    // Best effort: if it fails, the next list reads the same records again.
    (await bucket.put(listOf(owner), JSON.stringify(kept), "any", "", { ...retry, timeoutMs: 0 })).unwrapOr("");
  };

  return {
    read: async (name, retry) =>
      (await bucket.get(keyOf(name), retry)).map((object): Found => {
        if (object === null) return { kind: "none" };
        const record = parseRecord(name, object.text);
        return record === undefined ? { kind: "foreign" } : { kind: "ours", record, objectEtag: object.etag };
      }),

    write: (name, record, found, retry) =>
      bucket.put(
        keyOf(name),
        renderRecord(record),
        conditionOf(found),
        record.kind === "freed" ? FREED_TAG : "",
        retry,
      ),

    point: (owner, name, retry) => bucket.put(`${ownersOf(owner)}${name}`, "{}", "any", "", retry),

    list: async (owner, retry = {}) => {
      const [mine, all, cached] = await Promise.all([
        bucket.list(ownersOf(owner), retry),
        bucket.list(SERVICES, retry),
        bucket.get(listOf(owner), retry),
      ]);
      if (mine.isErr()) return err(mine.error);
      if (all.isErr()) return err(all.error);
      if (cached.isErr()) return err(cached.error);
      const names = new Set(mine.value.map(({ key }) => key.slice(ownersOf(owner).length)));
      const known = new Map(keptIn(cached.value?.text ?? "[]").map((one) => [one[0], one]));
      const present = all.value
        .map(({ key, etag }) => ({ name: key.slice(SERVICES.length, -SUFFIX.length), etag }))
        .filter(({ name }) => names.has(name));
      const same = present.flatMap(({ name, etag }) => {
        const one = known.get(name);
        return one?.[1] === etag ? [one] : [];
      });
      const fresh = new Set(same.map(([name]) => name));
      const read = await readAll(
        present.flatMap(({ name }) => (fresh.has(name) ? [] : [name])),
        retry,
      );
      if (read.isErr()) return err(read.error);
      const kept = [...same, ...read.value];
      if (read.value.length > 0) await remember(owner, kept, retry);
      const records = kept.flatMap(([name, , text]) => parseRecord(name, text) ?? []);
      return ok(records.filter((one): one is HeldRecord => one.kind === "held" && one.attempted.owner === owner));
    },
  };
};
