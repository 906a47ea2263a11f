/**
 * Creates a volume: claims its name, creates the claim's bucket, and makes the bucket live in one conditional step. The
 * call that wins this step has created the volume. The next call for the name completes an interrupted creation.
 */
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import { type Conflict, conflict, type Unavailable, unavailable } from "../../../core/errors.ts";
import type { StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import { newLabels, type VolumeBucket, volumeOf } from "./bucket.ts";
import { createBucket } from "./bucket-settings.ts";
import type { Claim } from "./claims.ts";
import { current } from "./find-bucket.ts";
import { bucketName } from "./names.ts";
import { awaitRestore, finishRestore } from "./restore-volume.ts";
import type { ApiResult } from "./storage-calls.ts";
import type { VolumeCall } from "./volume-call.ts";

type Creation = { readonly volume: StoredVolume; readonly created: boolean };
/** `again`: the state has changed; the caller must start over. */
type Attempt<E = never> = ResultAsync<Creation | "again", Unavailable | E>;

const TRIES = 10;

/** Deletes the bucket of a claim that no longer holds; no client has seen the bucket. */
const dropBucket = ({ api, buckets }: VolumeCall, id: string): Attempt =>
  safeTry(async function* () {
    // Read again: the delete must name the current metageneration.
    const bucket = yield* buckets.get(id);
    if (bucket?.state === "making") yield* api.deleteBucket(id, bucket.metageneration);
    return ok("again" as const);
  });

/** The last step. The claim must still hold, or another bucket may have taken the name. */
const makeLive = (call: VolumeCall, { id, name }: VolumeBucket, claim: Claim): Attempt =>
  safeTry(async function* () {
    const standing = yield* call.claims.read(name);
    if (standing?.generation !== claim.generation) return dropBucket(call, id);
    const { changed, bucket } = yield* call.buckets.change(id, "live", ({ state }) => state === "making");
    return ok(
      bucket?.state === "live" ? { volume: volumeOf(bucket, call.owner), created: changed } : ("again" as const),
    );
  });

const finish = (call: VolumeCall, name: VolumeName, claim: Claim): Attempt =>
  safeTry(async function* () {
    const { api, buckets, claims, config, clock, ids, owner } = call;
    const labels = newLabels(owner, name, ids.id(), clock.now());
    yield* createBucket(api, config, { name: claim.bucket, labels });
    const bucket = yield* buckets.get(claim.bucket);
    if (bucket?.state === "making") return makeLive(call, bucket, claim);
    // In any other state, another call has won.
    if (bucket === undefined || bucket.state === "deleting") yield* claims.remove(name, claim);
    return ok("again" as const);
  });

const attempt = (call: VolumeCall, name: VolumeName): Attempt<Conflict> =>
  safeTry(async function* () {
    const { owner, ids, claims } = call;
    const bucket = yield* current(call, name);
    if (bucket?.state === "hidden") return err(conflict(`'${name}' is being deleted. Try again in a moment.`));
    if (bucket?.state === "restoring") return finishRestore(call, bucket.id).map(() => "again" as const);
    if (bucket !== undefined) return ok({ volume: volumeOf(bucket, owner), created: false });
    const claim = yield* claims.take(name, { bucket: bucketName(owner, name, ids.id()), purpose: "make" });
    if (claim.purpose === "make") return finish(call, name, claim);
    return awaitRestore(call, name).map(() => "again" as const);
  });

export const createVolume = (call: VolumeCall, name: VolumeName): ResultAsync<Creation, Conflict | Unavailable> =>
  safeTry(async function* () {
    for (let tries = 0; tries < TRIES; tries++) {
      const made = yield* attempt(call, name);
      if (made !== "again") return ok(made);
    }
    return err(unavailable(`Too many concurrent calls for the volume '${name}'. Try again.`));
  });

/**
 * Deletes a bucket that never became a volume. Keeps it if a claim still names it: the next call completes the
 * creation.
 */
export const dropAbandoned = ({ api, claims }: VolumeCall, bucket: VolumeBucket): ApiResult<void> =>
  safeTry(async function* () {
    const claim = yield* claims.read(bucket.name);
    if (claim?.bucket !== bucket.id) yield* api.deleteBucket(bucket.id, bucket.metageneration);
    return ok(undefined);
  });
