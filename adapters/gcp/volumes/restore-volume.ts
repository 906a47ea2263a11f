/**
 * Restores a volume from the trash: claims the name, restores the empty bucket and then its objects, and makes the
 * bucket live. An interrupted restore leaves the volume in the trash, and the next restore continues it.
 * https://cloud.google.com/storage/docs/use-soft-deleted-buckets
 */
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import {
  type Conflict,
  conflict,
  type NotFound,
  notFound,
  type Unavailable,
  unavailable,
} from "../../../core/errors.ts";
import type { StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import { type VolumeBucket, volumeOf } from "./bucket.ts";
import { restoreObjects } from "./bulk.ts";
import { current } from "./find-bucket.ts";
import type { ApiResult } from "./storage-calls.ts";
import type { VolumeCall } from "./volume-call.ts";

const TRIES = 10;

/** Milliseconds after which a claim is stale if its bucket is still not live: its call has failed. */
const STALE_CLAIM_MS = 120_000;

export const inTrash = ({ state }: VolumeBucket): boolean => state === "deleting" || state === "restoring";

/** Restores the objects of an existing bucket, then makes it live. Undefined if the bucket does not exist. */
export const finishRestore = ({ api, buckets }: VolumeCall, id: string): ApiResult<VolumeBucket | undefined> =>
  safeTry(async function* () {
    // From here on, a call that is still emptying the bucket stops.
    const { bucket } = yield* buckets.change(id, "restoring", ({ state }) => state === "deleting");
    if (bucket?.state !== "restoring") return ok(bucket);
    yield* restoreObjects(api, id, bucket.since);
    return buckets.change(id, "live", ({ state }) => state === "restoring").map((end) => end.bucket);
  });

/** Returns the bucket if it is in the trash. `exists` is false once Cloud Storage has deleted it. */
const trashed = (
  { buckets }: VolumeCall,
  id: string,
): ApiResult<{ readonly bucket: VolumeBucket; readonly exists: boolean } | undefined> =>
  safeTry(async function* () {
    const living = yield* buckets.get(id);
    if (living !== undefined) return ok(inTrash(living) ? { bucket: living, exists: true } : undefined);
    const bucket = (yield* buckets.deleted(id)).find((one) => one.id === id && inTrash(one));
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
    if (buckets.ageOf(claim.at) < STALE_CLAIM_MS)
      return err(conflict(`A volume '${name}' is being created. Try again in a moment.`));
    return claims.remove(name, claim).map(() => "again" as const);
  });

const attempt = (
  call: VolumeCall,
  id: string,
): ResultAsync<VolumeBucket | "again", NotFound | Conflict | Unavailable> =>
  safeTry(async function* () {
    const found = yield* trashed(call, id);
    if (found === undefined) return err(notFound("The trash does not contain this volume."));
    const { bucket, exists } = found;
    const present = yield* current(call, bucket.name);
    if (present !== undefined && present.id !== id)
      return err(conflict(`The account has another volume '${bucket.name}'. Delete it first.`));
    if ((yield* claimName(call, bucket)) === "again") return ok("again" as const);
    if (!exists) yield* call.api.restoreBucket(id, bucket.generation);
    const end = yield* finishRestore(call, id);
    return ok(end === undefined || end.state === "deleting" ? ("again" as const) : end);
  });

export const restoreVolume = (
  call: VolumeCall,
  id: string,
): ResultAsync<StoredVolume, NotFound | Conflict | Unavailable> =>
  safeTry(async function* () {
    for (let tries = 0; tries < TRIES; tries++) {
      const restored = yield* attempt(call, id);
      if (restored !== "again") return ok(volumeOf(restored, call.owner));
    }
    return err(unavailable("Too many concurrent calls for the volume. Try again."));
  });

const POLL_MS = 250;

/** Waits for a restore of the same name before a creation, or removes the claim of the restore if it is stale. */
export const awaitRestore = ({ buckets, claims, clock, signal }: VolumeCall, name: VolumeName): ApiResult<void> =>
  safeTry(async function* () {
    const claim = yield* claims.read(name);
    if (claim?.purpose !== "restore") return ok(undefined);
    if (buckets.ageOf(claim.at) >= STALE_CLAIM_MS) return claims.remove(name, claim);
    await clock.sleep(POLL_MS, signal);
    return ok(undefined);
  });
