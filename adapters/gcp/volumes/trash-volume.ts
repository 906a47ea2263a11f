/**
 * Moves a volume to the trash. The mark on the hidden bucket decides: from then on, the volume is in the trash.
 * Emptying and deleting the bucket then makes its objects unreachable. Cloud Storage retains both for seven days
 * (https://cloud.google.com/storage/docs/soft-delete). The next listing of volumes completes an interrupted move.
 */
import type { Timestamp } from "../../../core/domain/wire/instant.ts";
import { type Conflict, conflict, type Unavailable, unavailable } from "../../../core/errors.ts";
import type { StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, ok, okAsync, type ResultAsync, safeTry } from "../../../core/result.ts";
import { trashLabels, type VolumeBucket } from "./bucket.ts";
import { emptyBucket, restoreObjects } from "./bulk.ts";
import type { ApiResult } from "./storage-calls.ts";
import type { VolumeCall } from "./volume-call.ts";

/** Limits how often a bucket is emptied: concurrent uploads may add objects. */
const ROUNDS = 5;

/** Frees the name, unless another bucket already holds it. */
const releaseName = ({ claims }: VolumeCall, { id, name }: VolumeBucket): ApiResult<void> =>
  claims.read(name).andThen((claim) => (claim?.bucket === id ? claims.remove(name, claim) : okAsync(undefined)));

/** Returns what a concurrent call did to the bucket: it completed this move, or restored the volume. */
const outcomeOfRace = ({ api, buckets }: VolumeCall, { id, since }: VolumeBucket): ApiResult<"deleted" | "restored"> =>
  safeTry(async function* () {
    if ((yield* buckets.get(id)) === undefined) return ok("deleted" as const);
    // Restore what this call deleted after the restore had listed the objects.
    yield* restoreObjects(api, id, since);
    return ok("restored" as const);
  });

/** Empties and deletes a bucket in the trash. Returns `restored` if a concurrent call restored it. */
export const finishTrash = (call: VolumeCall, marked: VolumeBucket): ApiResult<"deleted" | "restored"> =>
  safeTry(async function* () {
    const { api, buckets } = call;
    const { id } = marked;
    yield* releaseName(call, marked);
    let seen = marked;
    /** True while the mark is in place. A deploy may change the bucket's policy meanwhile; the mark stays valid. */
    const isMarked = (): ApiResult<boolean> =>
      buckets.get(id).map((found) => {
        if (found?.state !== marked.state || found.call !== marked.call) return false;
        seen = found;
        return true;
      });
    for (let round = 0; round < ROUNDS; round++) {
      const emptied = yield* emptyBucket(api, id, isMarked);
      if (emptied === "not_found") return ok("deleted" as const);
      if (emptied === "stopped") return outcomeOfRace(call, marked);
      const deleted = yield* api.deleteBucket(id, seen.metageneration);
      if (deleted !== "changed" && deleted !== "exists") return ok("deleted" as const);
      if (deleted === "changed" && !(yield* isMarked())) return outcomeOfRace(call, marked);
    }
    return err(unavailable("The volume keeps changing while it is being deleted. Try again."));
  });

export const trashVolume = (
  call: VolumeCall,
  { id, name }: StoredVolume,
  deletedAt: Timestamp,
): ResultAsync<void, Conflict | Unavailable> =>
  safeTry(async function* () {
    const { changed, bucket } = yield* call.buckets.change(
      id,
      "deleting",
      ({ state }) => state === "hidden",
      // Objects deleted after the volume was hidden belong to it, and a restore brings them back.
      ({ updated }) => trashLabels(updated, deletedAt),
    );
    const isTrashed = changed && (yield* finishTrash(call, bucket)) === "deleted";
    return isTrashed ? ok(undefined) : err(conflict(`'${name}' is no longer being deleted.`));
  });
