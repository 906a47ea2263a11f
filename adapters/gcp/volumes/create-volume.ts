/** Creates a volume: claims its name, creates the claim's bucket, and makes the bucket live. */
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import { ok, safeTry } from "../../../core/result.ts";
import type { ApiResult } from "../../cloud/calls/expect-states.ts";
import type { Creation } from "../../cloud/volumes/driver.ts";
import { newLabels, type VolumeBucket } from "./bucket.ts";
import { createVolumeBucket } from "./bucket-settings.ts";
import type { Claim } from "./claims.ts";
import { bucketName } from "./names.ts";
import { awaitRestore, current } from "./restore-volume.ts";
import type { VolumeCall } from "./volume-call.ts";

type Attempt = ApiResult<Creation<VolumeBucket>>;

/** Deletes a new bucket whose claim no longer exists. No client has seen the bucket. */
const dropBucket = ({ api, buckets }: VolumeCall, id: string): Attempt =>
  safeTry(async function* () {
    // Read again: the delete must name the current metageneration.
    const bucket = yield* buckets.get(id);
    if (bucket?.state === "making") yield* api.deleteBucket(id, bucket.metageneration);
    return ok("again" as const);
  });

/** Makes the bucket live if its claim still exists. Otherwise deletes it, because another bucket may have the name. */
const makeLive = (call: VolumeCall, { id, name }: VolumeBucket, claim: Claim): Attempt =>
  safeTry(async function* () {
    const standing = yield* call.claims.read(name);
    if (standing?.generation !== claim.generation) return dropBucket(call, id);
    const { changed, record } = yield* call.buckets.change(id, "live", ({ state }) => state === "making");
    return ok(record?.state === "live" ? { record, created: changed } : ("again" as const));
  });

const finish = (call: VolumeCall, name: VolumeName, claim: Claim): Attempt =>
  safeTry(async function* () {
    const { api, buckets, claims, config, clock, ids, owner } = call;
    const labels = newLabels(owner, name, ids.id(), clock.now());
    yield* createVolumeBucket(api, config, { name: claim.bucket, labels });
    const bucket = yield* buckets.get(claim.bucket);
    if (bucket?.state === "making") return makeLive(call, bucket, claim);
    // In any other state, another call has won.
    if (bucket === undefined || bucket.state === "deleting") yield* claims.remove(name, claim);
    return ok("again" as const);
  });

export const createVolume = (call: VolumeCall, name: VolumeName): Attempt =>
  safeTry(async function* () {
    const { owner, ids, claims } = call;
    const record = yield* current(call, name);
    if (record !== undefined) return ok({ record, created: false });
    const claim = yield* claims.take(name, { bucket: bucketName(owner, name, ids.id()), purpose: "make" });
    if (claim.purpose === "make") return finish(call, name, claim);
    return awaitRestore(call, name).map(() => "again" as const);
  });

/**
 * Deletes a bucket that never became a volume. Keeps the bucket if a claim still names it, because the next call then
 * completes the creation.
 */
export const dropAbandoned = ({ api, claims }: VolumeCall, bucket: VolumeBucket): ApiResult<void> =>
  safeTry(async function* () {
    const claim = yield* claims.read(bucket.name);
    if (claim?.bucket !== bucket.id) yield* api.deleteBucket(bucket.id, bucket.metageneration);
    return ok(undefined);
  });
