/**
 * Making a volume: a claim on its name, the bucket that the claim names, the account's right to it, and then, in one
 * conditional step, life. Of calls that race the one that takes this step has made it; what one leaves half done, the
 * next one about the name finishes.
 */
import type { AccountId } from "../../../core/domain/account.ts";
import type { VolumeName } from "../../../core/domain/names.ts";
import { type Conflict, conflict, type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import type { Answer } from "./api.ts";
import { newLabels, type VolumeBucket, volumeOf } from "./bucket.ts";
import { bucketSettings, forbidden } from "./bucket-settings.ts";
import type { Claim } from "./claims.ts";
import { current } from "./finding.ts";
import { bucketName } from "./names.ts";
import type { Parts } from "./parts.ts";
import { awaitRestore, bringBack } from "./restoring.ts";

type Made = { readonly volume: StoredVolume; readonly created: boolean };
/** `again`: what was found has changed meanwhile; the whole is to be looked at anew. */
type Attempt = Promise<Result<Made | "again", Conflict | Unavailable>>;

const TRIES = 10;

const beingDeleted = (name: VolumeName): Conflict => conflict(`'${name}' is being deleted; try again in a moment.`);

/** Makes the bucket of the claim where there is none. */
const insert = async (
  { api, config, clock, ids }: Parts,
  owner: AccountId,
  name: VolumeName,
  { bucket }: Claim,
  options: CallOptions,
): Promise<Result<void, Unavailable>> => {
  const labels = newLabels(owner, name, ids.id(), clock.now());
  const made = await api.insertBucket({ name: bucket, ...bucketSettings(config), labels }, options);
  if (made.isErr()) return err(made.error);
  return made.value === "changed" || made.value === "invalid" ? err(forbidden()) : ok(undefined);
};

/** Takes away what a claim has left behind that does not stand any more: nobody has seen it. */
const drop = async ({ api, buckets }: Parts, owner: AccountId, id: string, options: CallOptions): Attempt => {
  // Seen anew: the change of its policy has changed the bucket.
  const found = await buckets.get(owner, id, options);
  if (found.isErr()) return err(found.error);
  if (found.value?.state !== "making") return ok("again");
  return (await api.deleteBucket(id, found.value.metageneration, options)).map(() => "again" as const);
};

/** The last step; by then the claim has to stand still, or another bucket may have taken the name. */
const enliven = async (parts: Parts, owner: AccountId, bucket: VolumeBucket, claim: Claim, options: CallOptions) => {
  const { buckets, claims } = parts;
  const standing = await claims.read(owner, bucket.name, options);
  if (standing.isErr()) return err(standing.error);
  if (standing.value?.generation !== claim.generation) return drop(parts, owner, bucket.id, options);
  const changed = await buckets.change<"live" | "again">(
    owner,
    bucket.id,
    (found) => {
      if (found?.state === "making") return { to: "live" };
      return { stop: found?.state === "live" ? "live" : "again" };
    },
    options,
  );
  return changed.map((end): Made | "again" => {
    if ("bucket" in end) return { volume: volumeOf(end.bucket, owner), created: true };
    return end.stop === "live" ? { volume: volumeOf(bucket, owner), created: false } : "again";
  });
};

const finish = async (
  parts: Parts,
  owner: AccountId,
  name: VolumeName,
  claim: Claim,
  options: CallOptions,
): Attempt => {
  const { buckets, claims } = parts;
  const inserted = await insert(parts, owner, name, claim, options);
  if (inserted.isErr()) return err(inserted.error);
  const found = await buckets.get(owner, claim.bucket, options);
  if (found.isErr()) return err(found.error);
  const bucket = found.value;
  if (bucket === undefined || bucket.state === "deleting")
    return (await claims.remove(owner, name, claim, options)).map(() => "again" as const);
  // Another call was faster.
  if (bucket.state !== "making") return ok("again");
  return enliven(parts, owner, bucket, claim, options);
};

const attempt = async (parts: Parts, owner: AccountId, name: VolumeName, options: CallOptions): Attempt => {
  const present = await current(parts, owner, name, options);
  if (present.isErr()) return err(present.error);
  const bucket = present.value;
  if (bucket?.state === "hidden") return err(beingDeleted(name));
  if (bucket?.state === "restoring") return (await bringBack(parts, owner, bucket.id, options)).map(() => "again");
  if (bucket !== undefined) return ok({ volume: volumeOf(bucket, owner), created: false });
  const wanted = { bucket: bucketName(owner, name, parts.ids.id()), purpose: "make" } as const;
  const claim = await parts.claims.take(owner, name, wanted, options);
  if (claim.isErr()) return err(claim.error);
  if (claim.value.purpose === "make") return finish(parts, owner, name, claim.value, options);
  return (await awaitRestore(parts, owner, { name }, options)).map(() => "again");
};

export const makeVolume = async (
  parts: Parts,
  owner: AccountId,
  name: VolumeName,
  options: CallOptions,
): Promise<Result<Made, Conflict | Unavailable>> => {
  for (let tries = 0; tries < TRIES; tries++) {
    const made = await attempt(parts, owner, name, options);
    if (made.isErr()) return err(made.error);
    if (made.value !== "again") return ok(made.value);
  }
  return err(unavailable(`Too many calls about the volume '${name}' at once.`));
};

/** Takes away a bucket that was never a volume, unless a claim stands by which the next call finishes it. */
export const dropAbandoned = async (
  { api, claims }: Parts,
  owner: AccountId,
  { id, name, metageneration }: VolumeBucket,
  options: CallOptions,
): Answer<undefined> => {
  const claim = await claims.read(owner, name, options);
  if (claim.isErr()) return err(claim.error);
  if (claim.value?.bucket === id) return ok(undefined);
  return (await api.deleteBucket(id, metageneration, options)).map(() => undefined);
};
