/**
 * Restores a volume from the trash: claims the name, restores the empty bucket, and then its objects.
 * https://cloud.google.com/storage/docs/use-soft-deleted-buckets
 */
import { nameIsTaken } from "../../../core/domain/volumes/conflicts.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import type { Conflict, NotFound, Unavailable } from "../../../core/errors.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import type { ApiResult } from "../../cloud/calls/expect-states.ts";
import { holder } from "../../cloud/volumes/find-volume.ts";
import { isInTrash } from "../../cloud/volumes/record.ts";
import { isBeingCreated, notInTrash } from "../../cloud/volumes/restore-volume.ts";
import type { VolumeBucket } from "./bucket.ts";
import { restoreObjects } from "./bulk.ts";
import type { VolumeCall } from "./volume-call.ts";

/**
 * Milliseconds after which a claim is stale if its bucket is not live. By then, the call that made the claim has
 * failed.
 */
const STALE_CLAIM_MS = 120_000;

/**
 * Returns the bucket that holds the name. Returns undefined while the bucket is being created: its claim then holds the
 * name.
 */
export const current = ({ buckets }: VolumeCall, name: VolumeName): ApiResult<VolumeBucket | undefined> =>
  holder(buckets, name).map((bucket) => (bucket?.state === "making" ? undefined : bucket));

/** Restores the objects of an existing bucket. Returns undefined if the bucket does not exist. */
export const openBucket = ({ api, buckets }: VolumeCall, { id }: VolumeBucket): ApiResult<VolumeBucket | undefined> =>
  safeTry(async function* () {
    // This change stops a call that is still emptying the bucket.
    const { record } = yield* buckets.change(id, "restoring", ({ state }) => state === "deleting");
    if (record?.state === "restoring") yield* restoreObjects(api, id, record.since);
    return ok(record);
  });

/** Returns the bucket if it is in the trash. `exists` is false once Cloud Storage has deleted it. */
const trashed = (
  { buckets }: VolumeCall,
  id: string,
): ApiResult<{ readonly bucket: VolumeBucket; readonly exists: boolean } | undefined> =>
  safeTry(async function* () {
    const living = yield* buckets.get(id);
    if (living !== undefined) return ok(isInTrash(living) ? { bucket: living, exists: true } : undefined);
    const bucket = (yield* buckets.deleted(id)).find((one) => one.id === id && isInTrash(one));
    return ok(bucket && { bucket, exists: false });
  });

/** Claims the name for the bucket. Returns `again` after removing a stale claim. */
const claimName = (
  { buckets, claims }: VolumeCall,
  { id, name }: VolumeBucket,
): ResultAsync<"taken" | "again", Conflict | Unavailable> =>
  safeTry(async function* () {
    const claim = yield* claims.take(name, { bucket: id, purpose: "restore" });
    if (claim.bucket === id) return ok("taken" as const);
    if (buckets.ageOf(claim.at) < STALE_CLAIM_MS) return err(isBeingCreated(name));
    return claims.remove(name, claim).map(() => "again" as const);
  });

export const claimTrashed = (
  call: VolumeCall,
  id: string,
): ResultAsync<VolumeBucket | "again", NotFound | Conflict | Unavailable> =>
  safeTry(async function* () {
    const found = yield* trashed(call, id);
    if (found === undefined) return err(notInTrash());
    const { bucket, exists } = found;
    const present = yield* current(call, bucket.name);
    if (present !== undefined && present.id !== id) return err(nameIsTaken(bucket.name));
    if ((yield* claimName(call, bucket)) === "again") return ok("again" as const);
    if (!exists) yield* call.api.restoreBucket(id, bucket.generation);
    return ok(bucket);
  });

const POLL_MS = 250;

/**
 * Waits for one poll interval if a volume of the same name is being restored. Removes the restore's claim if it is
 * stale.
 */
export const awaitRestore = ({ buckets, claims, clock, signal }: VolumeCall, name: VolumeName): ApiResult<void> =>
  safeTry(async function* () {
    const claim = yield* claims.read(name);
    if (claim?.purpose !== "restore") return ok(undefined);
    if (buckets.ageOf(claim.at) >= STALE_CLAIM_MS) return claims.remove(name, claim);
    await clock.sleep(POLL_MS, signal);
    return ok(undefined);
  });
