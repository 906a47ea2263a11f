/** Restores a volume from the trash: claims the name with a conditional write, then opens the bucket. */
import { nameIsTaken } from "../../../core/domain/volumes/conflicts.ts";
import type { Conflict, NotFound, Unavailable } from "../../../core/errors.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import type { ApiResult } from "../../cloud/calls/expect-states.ts";
import { holderOf, isInTrash } from "../../cloud/volumes/record.ts";
import { isBeingCreated, notInTrash } from "../../cloud/volumes/restore-volume.ts";
import { liveLifecycle } from "./bucket-settings.ts";
import { type AwsVolume, inState } from "./record.ts";
import { byId } from "./records.ts";
import { replaceLifecycle } from "./replace-lifecycle.ts";
import type { VolumeCall } from "./volume-call.ts";

/** Opens a closed bucket. Returns false if the bucket does not exist. */
export const reopenBucket = ({ api, marks }: VolumeCall, record: AwsVolume): ApiResult<boolean> =>
  safeTry(async function* () {
    // Replaces the lifecycle first. Otherwise, the trash rule could expire objects during a late restore.
    const lifecycle = yield* await replaceLifecycle(api, record.id, liveLifecycle());
    const opened = yield* await api.deletePolicy(record.id);
    yield* await marks.put(record);
    return ok(lifecycle !== "not_found" && opened !== "not_found");
  });

/** Opens the bucket of a `restoring` volume. Returns undefined if the bucket does not exist. */
export const openBucket = (call: VolumeCall, record: AwsVolume): ApiResult<AwsVolume | undefined> =>
  safeTry(async function* () {
    if (yield* await reopenBucket(call, record)) return ok(record);
    // An operator deleted the bucket.
    yield* await call.marks.remove(record);
    return call.records.drop(record.id).map(() => undefined);
  });

export const claimTrashed = (
  { records }: VolumeCall,
  id: string,
): ResultAsync<AwsVolume, NotFound | Conflict | Unavailable> =>
  records
    .update<NotFound | Conflict | AwsVolume>((all) => {
      const found = byId(all, id);
      if (found === undefined || !isInTrash(found)) return { stop: notInTrash() };
      if (found.state === "restoring") return { stop: found };
      const holder = holderOf(all, found.name);
      if (holder?.state === "making") return { stop: isBeingCreated(found.name) };
      if (holder !== undefined) return { stop: nameIsTaken(found.name) };
      return { put: inState(found, "restoring") };
    })
    .andThen((end) => {
      const claimed = "record" in end ? end.record : end.stop;
      return "kind" in claimed ? err(claimed) : ok(claimed);
    });
