/** Finds the bucket that a volume's name refers to. Reveals a bucket that was hidden for too long. */
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import { okAsync } from "../../../core/result.ts";
import type { VolumeBucket } from "./bucket.ts";
import type { ApiResult } from "./storage-calls.ts";
import type { VolumeCall } from "./volume-call.ts";

/** Returns the bucket. Reveals it first if it was hidden for too long. Undefined if it is deleted. */
export const upToDate = ({ buckets }: VolumeCall, bucket: VolumeBucket): ApiResult<VolumeBucket | undefined> => {
  if (!buckets.isForgotten(bucket)) return okAsync(bucket);
  return buckets.change(bucket.id, "live", (one) => buckets.isForgotten(one)).map((end) => end.bucket);
};

/** States that hold a name, by precedence. */
const order: readonly VolumeBucket["state"][] = ["live", "hidden", "restoring"];

/** Returns the bucket that holds the name: live, hidden or being restored. Undefined if the name is free. */
export const current = (call: VolumeCall, name: VolumeName): ApiResult<VolumeBucket | undefined> =>
  call.buckets.ofVolume(name).andThen((found) => {
    const [bucket] = order.flatMap((state) => found.find((one) => one.state === state) ?? []);
    return bucket === undefined ? okAsync(undefined) : upToDate(call, bucket);
  });
