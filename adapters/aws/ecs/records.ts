/**
 * The records of deployments in the state bucket: `services/NAME.json`, one for each name, whoever owns it.
 *
 * A list of an account's takes three calls, whatever it has: which names it ever had (`owners/DIGEST/NAME`, written
 * before the record), every record's etag (a call for each thousand), and `lists/DIGEST.json`, which has the account's
 * records as they were when somebody listed them last. What changed since is read one by one, by its etag, and the list
 * is written anew: it is a cache that is never believed where the etag differs, so nobody has to keep it right.
 */
import { z } from "zod";
import type { AccountId } from "../../../core/domain/account.ts";
import type { DeploymentName } from "../../../core/domain/names.ts";
import type { Unavailable } from "../../../core/errors.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { accountDigest } from "../../shared/account-digest.ts";
import type { CallState } from "../../shared/provider-call.ts";
import type { Patience, PutCondition, StateBucket } from "../state-bucket.ts";
import { type HeldRecord, type NameRecord, parseRecord, renderRecord } from "./record.ts";

/** What stands under a name, and the object's etag, which S3's own conditions name. */
export type Found =
  | { readonly kind: "none" }
  /** Something that is no record of ours. */
  | { readonly kind: "foreign" }
  | { readonly kind: "ours"; readonly record: NameRecord; readonly objectEtag: string };

export interface Records {
  read(name: DeploymentName, patience?: Patience): Promise<Result<Found, Unavailable>>;
  /** Writes where `found` still stands: `changed`, or `not_found`, where it does not. */
  write(
    name: DeploymentName,
    record: NameRecord,
    found: Found,
    patience?: Patience,
  ): Promise<Result<string, CallState | Unavailable>>;
  /** Says that the account may have a deployment of the name; before it has one. */
  point(owner: AccountId, name: DeploymentName, patience?: Patience): Promise<Result<unknown, CallState | Unavailable>>;
  list(owner: AccountId, patience?: Patience): Promise<Result<readonly HeldRecord[], Unavailable>>;
}

const SERVICES = "services/";
const SUFFIX = ".json";
/** Reads at once. */
const AT_ONCE = 20;
/** The bucket's lifecycle forgets what has this tag some time after the name is free again (docs/aws-template.yaml). */
export const FREED_TAG = "portside-state=freed";

const keyOf = (name: string): string => `${SERVICES}${name}${SUFFIX}`;
const ownersOf = (owner: AccountId): string => `owners/${accountDigest(owner)}/`;
const listOf = (owner: AccountId): string => `lists/${accountDigest(owner)}${SUFFIX}`;

/** Name, etag of its record, the record. */
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

  const readAll = async (names: readonly string[], patience: Patience): Promise<Result<Kept, Unavailable>> => {
    const kept: Kept = [];
    for (let from = 0; from < names.length; from += AT_ONCE) {
      const some = names.slice(from, from + AT_ONCE);
      const read = await Promise.all(some.map((name) => bucket.get(keyOf(name), patience)));
      for (const [index, one] of read.entries()) {
        if (one.isErr()) return err(one.error);
        if (one.value !== null) kept.push([some[index] as string, one.value.etag, one.value.text]);
      }
    }
    return ok(kept);
  };

  const remember = async (owner: AccountId, kept: Kept, patience: Patience): Promise<void> => {
    // The next list reads one by one what this one did; nothing else depends on it.
    (await bucket.put(listOf(owner), JSON.stringify(kept), "any", "", { ...patience, patience: 0 })).unwrapOr("");
  };

  return {
    read: async (name, patience) =>
      (await bucket.get(keyOf(name), patience)).map((object): Found => {
        if (object === null) return { kind: "none" };
        const record = parseRecord(name, object.text);
        return record === undefined ? { kind: "foreign" } : { kind: "ours", record, objectEtag: object.etag };
      }),

    write: (name, record, found, patience) =>
      bucket.put(
        keyOf(name),
        renderRecord(record),
        conditionOf(found),
        record.kind === "freed" ? FREED_TAG : "",
        patience,
      ),

    point: (owner, name, patience) => bucket.put(`${ownersOf(owner)}${name}`, "{}", "any", "", patience),

    list: async (owner, patience = {}) => {
      const [mine, all, cached] = await Promise.all([
        bucket.list(ownersOf(owner), patience),
        bucket.list(SERVICES, patience),
        bucket.get(listOf(owner), patience),
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
        patience,
      );
      if (read.isErr()) return err(read.error);
      const kept = [...same, ...read.value];
      if (read.value.length > 0) await remember(owner, kept, patience);
      const records = kept.flatMap(([name, , text]) => parseRecord(name, text) ?? []);
      return ok(records.filter((one): one is HeldRecord => one.kind === "held" && one.attempted.owner === owner));
    },
  };
};
