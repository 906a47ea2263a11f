/**
 * Makes the objects of a volume in the trash unreachable: empties and deletes its bucket. Cloud Storage retains the
 * objects and the bucket for the soft-delete period (https://cloud.google.com/storage/docs/soft-delete).
 */
import { unavailable } from "../../../core/errors.ts";
import { err, ok, okAsync, safeTry } from "../../../core/result.ts";
import type { ApiResult } from "../../cloud/calls/expect-states.ts";
import type { VolumeBucket } from "./bucket.ts";
import { emptyBucket, restoreObjects } from "./bulk.ts";
import type { VolumeCall } from "./volume-call.ts";

/** Limits how often a bucket is emptied: concurrent uploads may add objects. */
const ROUNDS = 5;

/** Frees the name, unless another bucket already holds it. */
const releaseName = ({ claims }: VolumeCall, { id, name }: VolumeBucket): ApiResult<void> =>
  claims.read(name).andThen((claim) => (claim?.bucket === id ? claims.remove(name, claim) : okAsync(undefined)));

/** Determines whether a concurrent call has completed this move to the trash or restored the volume. */
const outcomeOfRace = ({ api, buckets }: VolumeCall, { id, since }: VolumeBucket): ApiResult<"closed" | "restored"> =>
  safeTry(async function* () {
    if ((yield* buckets.get(id)) === undefined) return ok("closed" as const);
    // Restore the objects that this call deleted after the concurrent restore had listed them.
    yield* restoreObjects(api, id, since);
    return ok("restored" as const);
  });

/** Empties and deletes a bucket in the trash. Returns `restored` if a concurrent call restored it. */
export const closeBucket = (call: VolumeCall, marked: VolumeBucket): ApiResult<"closed" | "restored"> =>
  safeTry(async function* () {
    const { api, buckets } = call;
    const { id } = marked;
    yield* releaseName(call, marked);
    let seen = marked;
    /** True while no other call has changed the state. A deploy may change the bucket's policy, but not the state. */
    const isMarked = (): ApiResult<boolean> =>
      buckets.get(id).map((found) => {
        if (found?.state !== marked.state || found.call !== marked.call) return false;
        seen = found;
        return true;
      });
    for (let round = 0; round < ROUNDS; round++) {
      const emptied = yield* emptyBucket(api, id, isMarked);
      if (emptied === "not_found") return ok("closed" as const);
      if (emptied === "stopped") return outcomeOfRace(call, marked);
      const deleted = yield* api.deleteBucket(id, seen.metageneration);
      if (deleted !== "changed" && deleted !== "exists") return ok("closed" as const);
      if (deleted === "changed" && !(yield* isMarked())) return outcomeOfRace(call, marked);
    }
    return err(unavailable("The volume keeps changing while it is being deleted. Try again."));
  });
