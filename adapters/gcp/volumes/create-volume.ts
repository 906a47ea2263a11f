/**
 * Creates a volume: claims its name, creates the claim's bucket, and makes the bucket live in one conditional step. The
 * call that wins this step has created the volume. The next call for the name completes an interrupted creation.
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import { type Conflict, conflict, type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { newLabels, type VolumeBucket, volumeOf } from "./bucket.ts";
import { bucketSettings, forbidden } from "./bucket-settings.ts";
import type { Claim } from "./claims.ts";
import type { VolumeDeps } from "./deps.ts";
import { current } from "./find-bucket.ts";
import { bucketName } from "./names.ts";
import { awaitRestore, finishRestore } from "./restore-volume.ts";
import type { ApiResult } from "./storage-calls.ts";

type Creation = { readonly volume: StoredVolume; readonly created: boolean };
/** `again`: the state has changed; the caller must start over. */
type Attempt = Promise<Result<Creation | "again", Conflict | Unavailable>>;

const TRIES = 10;

const deleteInProgress = (name: VolumeName): Conflict => conflict(`'${name}' is being deleted. Try again in a moment.`);

/** Creates the claim's bucket if it does not exist. */
const insert = async (
  { api, config, clock, ids }: VolumeDeps,
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

/** Deletes the bucket of a claim that no longer holds; no client has seen the bucket. */
const dropBucket = async (
  { api, buckets }: VolumeDeps,
  owner: AccountId,
  id: string,
  options: CallOptions,
): Attempt => {
  // Read again: the delete must name the current metageneration.
  const found = await buckets.get(owner, id, options);
  if (found.isErr()) return err(found.error);
  if (found.value?.state !== "making") return ok("again");
  return (await api.deleteBucket(id, found.value.metageneration, options)).map(() => "again" as const);
};

/** The last step. The claim must still hold, or another bucket may have taken the name. */
const makeLive = async (
  deps: VolumeDeps,
  owner: AccountId,
  bucket: VolumeBucket,
  claim: Claim,
  options: CallOptions,
) => {
  const { buckets, claims } = deps;
  const standing = await claims.read(owner, bucket.name, options);
  if (standing.isErr()) return err(standing.error);
  if (standing.value?.generation !== claim.generation) return dropBucket(deps, owner, bucket.id, options);
  const changed = await buckets.change<"live" | "again">(
    owner,
    bucket.id,
    (found) => {
      if (found?.state === "making") return { to: "live" };
      return { stop: found?.state === "live" ? "live" : "again" };
    },
    options,
  );
  return changed.map((end): Creation | "again" => {
    if ("bucket" in end) return { volume: volumeOf(end.bucket, owner), created: true };
    return end.stop === "live" ? { volume: volumeOf(bucket, owner), created: false } : "again";
  });
};

const finish = async (
  deps: VolumeDeps,
  owner: AccountId,
  name: VolumeName,
  claim: Claim,
  options: CallOptions,
): Attempt => {
  const { buckets, claims } = deps;
  const inserted = await insert(deps, owner, name, claim, options);
  if (inserted.isErr()) return err(inserted.error);
  const found = await buckets.get(owner, claim.bucket, options);
  if (found.isErr()) return err(found.error);
  const bucket = found.value;
  if (bucket === undefined || bucket.state === "deleting")
    return (await claims.remove(owner, name, claim, options)).map(() => "again" as const);
  // Another call has won.
  if (bucket.state !== "making") return ok("again");
  return makeLive(deps, owner, bucket, claim, options);
};

const attempt = async (deps: VolumeDeps, owner: AccountId, name: VolumeName, options: CallOptions): Attempt => {
  const present = await current(deps, owner, name, options);
  if (present.isErr()) return err(present.error);
  const bucket = present.value;
  if (bucket?.state === "hidden") return err(deleteInProgress(name));
  if (bucket?.state === "restoring") return (await finishRestore(deps, owner, bucket.id, options)).map(() => "again");
  if (bucket !== undefined) return ok({ volume: volumeOf(bucket, owner), created: false });
  const wanted = { bucket: bucketName(owner, name, deps.ids.id()), purpose: "make" } as const;
  const claim = await deps.claims.take(owner, name, wanted, options);
  if (claim.isErr()) return err(claim.error);
  if (claim.value.purpose === "make") return finish(deps, owner, name, claim.value, options);
  return (await awaitRestore(deps, owner, { name }, options)).map(() => "again");
};

export const createVolume = async (
  deps: VolumeDeps,
  owner: AccountId,
  name: VolumeName,
  options: CallOptions,
): Promise<Result<Creation, Conflict | Unavailable>> => {
  for (let tries = 0; tries < TRIES; tries++) {
    const made = await attempt(deps, owner, name, options);
    if (made.isErr()) return err(made.error);
    if (made.value !== "again") return ok(made.value);
  }
  return err(unavailable(`Too many concurrent calls for the volume '${name}'. Try again.`));
};

/**
 * Deletes a bucket that never became a volume. Keeps it if a claim still names it: the next call completes the
 * creation.
 */
export const dropAbandoned = async (
  { api, claims }: VolumeDeps,
  owner: AccountId,
  { id, name, metageneration }: VolumeBucket,
  options: CallOptions,
): ApiResult<undefined> => {
  const claim = await claims.read(owner, name, options);
  if (claim.isErr()) return err(claim.error);
  if (claim.value?.bucket === id) return ok(undefined);
  return (await api.deleteBucket(id, metageneration, options)).map(() => undefined);
};
