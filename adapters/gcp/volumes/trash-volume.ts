/**
 * Moves a volume to the trash. The mark on the hidden bucket decides: from then on, the volume is in the trash. Emptying and deleting
 * the bucket then makes its objects unreachable. Cloud Storage retains both for seven days
 * (https://cloud.google.com/storage/docs/soft-delete). The next listing of volumes completes an interrupted move.
 */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { Timestamp } from "../../../core/domain/wire/instant.ts";
import { type Conflict, conflict, type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { trashLabels, type VolumeBucket } from "./bucket.ts";
import { emptyBucket, restoreObjects } from "./bulk.ts";
import type { VolumeDeps } from "./deps.ts";
import type { ApiResult } from "./storage-calls.ts";

/** Limits how often a bucket is emptied: concurrent uploads may add objects. */
const ROUNDS = 5;

/** Frees the name, unless another bucket already holds it. */
const releaseName = async (
  { claims }: VolumeDeps,
  owner: AccountId,
  { id, name }: VolumeBucket,
  options: CallOptions,
) => {
  const claim = await claims.read(owner, name, options);
  if (claim.isErr()) return err(claim.error);
  return claim.value?.bucket === id ? claims.remove(owner, name, claim.value, options) : ok(undefined);
};

/** Returns what a concurrent call did to the bucket: it completed this move, or restored the volume. */
const outcomeOfRace = async (
  { api, buckets }: VolumeDeps,
  owner: AccountId,
  { id, since }: VolumeBucket,
  options: CallOptions,
): ApiResult<"deleted" | "restored"> => {
  const found = await buckets.get(owner, id, options);
  if (found.isErr()) return err(found.error);
  if (found.value === undefined) return ok("deleted");
  // Restore what this call deleted after the restore had listed the objects.
  return (await restoreObjects(api, id, since, options)).map(() => "restored" as const);
};

/** Empties and deletes a bucket in the trash. Returns `restored` if a concurrent call restored it. */
export const finishTrash = async (
  deps: VolumeDeps,
  owner: AccountId,
  marked: VolumeBucket,
  options: CallOptions,
): ApiResult<"deleted" | "restored"> => {
  const { api, buckets } = deps;
  const released = await releaseName(deps, owner, marked, options);
  if (released.isErr()) return err(released.error);
  let seen = marked;
  /** True while the mark is in place. A deploy may change the bucket's policy meanwhile; the mark stays valid. */
  const isMarked = async (): ApiResult<boolean> =>
    (await buckets.get(owner, marked.id, options)).map((found) => {
      if (found?.state !== marked.state || found.call !== marked.call) return false;
      seen = found;
      return true;
    });
  for (let round = 0; round < ROUNDS; round++) {
    const emptied = await emptyBucket(api, marked.id, isMarked, options);
    if (emptied.isErr()) return err(emptied.error);
    if (emptied.value === "not_found") return ok("deleted");
    if (emptied.value === "stopped") return outcomeOfRace(deps, owner, marked, options);
    const deleted = await api.deleteBucket(marked.id, seen.metageneration, options);
    if (deleted.isErr()) return err(deleted.error);
    if (deleted.value !== "changed" && deleted.value !== "exists") return ok("deleted");
    const stillMarked = deleted.value === "changed" ? await isMarked() : ok(true);
    if (stillMarked.isErr()) return err(stillMarked.error);
    if (!stillMarked.value) return outcomeOfRace(deps, owner, marked, options);
  }
  return err(unavailable("The volume keeps changing while it is being deleted. Try again."));
};

export const trashVolume = async (
  deps: VolumeDeps,
  { owner, id, name }: StoredVolume,
  deletedAt: Timestamp,
  options: CallOptions,
): Promise<Result<void, Conflict | Unavailable>> => {
  const noLongerHidden = conflict(`'${name}' is no longer being deleted.`);
  const marked = await deps.buckets.change(
    owner,
    id,
    (bucket) =>
      bucket?.state === "hidden"
        ? // Objects deleted after the volume was hidden belong to it, and a restore brings them back.
          { to: "deleting", labels: trashLabels(bucket.updated, deletedAt) }
        : { stop: undefined },
    options,
  );
  if (marked.isErr()) return err(marked.error);
  if ("stop" in marked.value) return err(noLongerHidden);
  const finished = await finishTrash(deps, owner, marked.value.bucket, options);
  if (finished.isErr()) return err(finished.error);
  return finished.value === "deleted" ? ok(undefined) : err(noLongerHidden);
};
