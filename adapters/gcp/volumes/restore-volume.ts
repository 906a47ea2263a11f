/**
 * Restores a volume from the trash: claims the name, restores the empty bucket and then its objects, and makes the
 * bucket live. An interrupted restore leaves the volume in the trash, and the next restore continues it.
 * https://cloud.google.com/storage/docs/use-soft-deleted-buckets
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import {
  type Conflict,
  conflict,
  type NotFound,
  notFound,
  type Unavailable,
  unavailable,
} from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { type VolumeBucket, volumeOf } from "./bucket.ts";
import { restoreObjects } from "./bulk.ts";
import type { VolumeDeps } from "./deps.ts";
import { current } from "./find-bucket.ts";
import type { ApiResult } from "./storage-calls.ts";

const notInTrash = (): NotFound => notFound("The trash does not contain this volume.");

const TRIES = 10;

/** Milliseconds after which a claim is stale if its bucket is still not live: its call has failed. */
const STALE_CLAIM_MS = 120_000;

export const inTrash = ({ state }: VolumeBucket): boolean => state === "deleting" || state === "restoring";

/** Restores the objects of an existing bucket, then makes it live. Undefined if the bucket does not exist. */
export const finishRestore = async (
  { api, buckets }: VolumeDeps,
  owner: AccountId,
  id: string,
  options: CallOptions,
): ApiResult<VolumeBucket | undefined> => {
  // From here on, a call that is still emptying the bucket stops.
  const begun = await buckets.change(
    owner,
    id,
    (bucket) => (bucket?.state === "deleting" ? { to: "restoring" } : { stop: bucket }),
    options,
  );
  if (begun.isErr()) return err(begun.error);
  const bucket = "bucket" in begun.value ? begun.value.bucket : begun.value.stop;
  if (bucket?.state !== "restoring") return ok(bucket);
  const objects = await restoreObjects(api, id, bucket.since, options);
  if (objects.isErr()) return err(objects.error);
  const ended = await buckets.change(
    owner,
    id,
    (found) => (found?.state === "restoring" ? { to: "live" } : { stop: found }),
    options,
  );
  return ended.map((end) => ("bucket" in end ? end.bucket : end.stop));
};

/** Returns the bucket if it is in the trash. `exists` is false once Cloud Storage has deleted it. */
const trashed = async (
  { buckets }: VolumeDeps,
  owner: AccountId,
  id: string,
  options: CallOptions,
): ApiResult<{ readonly bucket: VolumeBucket; readonly exists: boolean } | undefined> => {
  const living = await buckets.get(owner, id, options);
  if (living.isErr()) return err(living.error);
  if (living.value !== undefined) return ok(inTrash(living.value) ? { bucket: living.value, exists: true } : undefined);
  const deleted = await buckets.deleted(owner, id, options);
  return deleted.map((all) => {
    const bucket = all.find((one) => one.id === id && inTrash(one));
    return bucket === undefined ? undefined : { bucket, exists: false };
  });
};

/** Claims the name for the bucket. Returns `again` after removing a stale claim. */
const claimName = async (
  { buckets, claims }: VolumeDeps,
  owner: AccountId,
  { id, name }: VolumeBucket,
  options: CallOptions,
): Promise<Result<"taken" | "again", Conflict | Unavailable>> => {
  const claim = await claims.take(owner, name, { bucket: id, purpose: "restore" }, options);
  if (claim.isErr()) return err(claim.error);
  if (claim.value.bucket === id) return ok("taken");
  if (buckets.ageOf(claim.value.at) < STALE_CLAIM_MS)
    return err(conflict(`A volume '${name}' is being created. Try again in a moment.`));
  return (await claims.remove(owner, name, claim.value, options)).map(() => "again" as const);
};

const attempt = async (
  deps: VolumeDeps,
  owner: AccountId,
  id: string,
  options: CallOptions,
): Promise<Result<VolumeBucket | "again", NotFound | Conflict | Unavailable>> => {
  const found = await trashed(deps, owner, id, options);
  if (found.isErr()) return err(found.error);
  if (found.value === undefined) return err(notInTrash());
  const { bucket, exists } = found.value;
  const present = await current(deps, owner, bucket.name, options);
  if (present.isErr()) return err(present.error);
  if (present.value !== undefined && present.value.id !== id)
    return err(conflict(`The account has another volume '${bucket.name}'. Delete it first.`));
  const claimed = await claimName(deps, owner, bucket, options);
  if (claimed.isErr()) return err(claimed.error);
  if (claimed.value === "again") return ok("again");
  if (!exists) {
    const restored = await deps.api.restoreBucket(id, bucket.generation, options);
    if (restored.isErr()) return err(restored.error);
  }
  const back = await finishRestore(deps, owner, id, options);
  return back.map((end) => (end === undefined || end.state === "deleting" ? "again" : end));
};

export const restoreVolume = async (
  deps: VolumeDeps,
  owner: AccountId,
  id: string,
  options: CallOptions,
): Promise<Result<StoredVolume, NotFound | Conflict | Unavailable>> => {
  for (let tries = 0; tries < TRIES; tries++) {
    const restored = await attempt(deps, owner, id, options);
    if (restored.isErr()) return err(restored.error);
    if (restored.value !== "again") return ok(volumeOf(restored.value, owner));
  }
  return err(unavailable("Too many concurrent calls for the volume. Try again."));
};

const POLL_MS = 250;

/** For a creation that finds a restore of the same name: waits for the restore, or removes its claim if it is stale. */
export const awaitRestore = async (
  { buckets, claims, clock }: VolumeDeps,
  owner: AccountId,
  bucket: Pick<VolumeBucket, "name">,
  options: CallOptions,
): ApiResult<undefined> => {
  const claim = await claims.read(owner, bucket.name, options);
  if (claim.isErr()) return err(claim.error);
  if (claim.value?.purpose !== "restore") return ok(undefined);
  if (buckets.ageOf(claim.value.at) >= STALE_CLAIM_MS)
    return (await claims.remove(owner, bucket.name, claim.value, options)).map(() => undefined);
  await clock.sleep(POLL_MS, options.signal);
  return ok(undefined);
};
