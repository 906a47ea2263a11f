/** Finds the bucket that a volume's name refers to. Reveals a bucket that was hidden for too long. */
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { VolumeName } from "../../../core/domain/wire/names.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok } from "../../../core/result.ts";
import type { VolumeBucket } from "./bucket.ts";
import type { VolumeDeps } from "./deps.ts";
import type { ApiResult } from "./storage-calls.ts";

/**
 * Reads the bucket again, and makes a hidden one live if that is due. Returns undefined if the bucket is deleted.
 *
 * @param isDue called only with a hidden bucket
 */
export const reveal = async (
  { buckets }: VolumeDeps,
  owner: AccountId,
  id: string,
  isDue: (bucket: VolumeBucket) => boolean,
  options: CallOptions,
): ApiResult<VolumeBucket | undefined> => {
  const shown = await buckets.change(
    owner,
    id,
    (bucket) => (bucket?.state === "hidden" && isDue(bucket) ? { to: "live" } : { stop: bucket }),
    options,
  );
  return shown.map((end) => ("bucket" in end ? end.bucket : end.stop));
};

/** Returns the bucket. Reveals it first if it was hidden for too long. */
export const upToDate = (
  deps: VolumeDeps,
  owner: AccountId,
  bucket: VolumeBucket,
  options: CallOptions,
): ApiResult<VolumeBucket | undefined> => {
  const isForgotten = (one: VolumeBucket): boolean => deps.buckets.isForgotten(one);
  return isForgotten(bucket) ? reveal(deps, owner, bucket.id, isForgotten, options) : Promise.resolve(ok(bucket));
};

/** States that hold a name, by precedence. */
const order: readonly VolumeBucket["state"][] = ["live", "hidden", "restoring"];

/** Returns the bucket that holds the name: live, hidden or being restored. Undefined if the name is free. */
export const current = async (
  deps: VolumeDeps,
  owner: AccountId,
  name: VolumeName,
  options: CallOptions,
): ApiResult<VolumeBucket | undefined> => {
  const found = await deps.buckets.ofVolume(owner, name, options);
  if (found.isErr()) return err(found.error);
  for (const state of order) {
    const bucket = found.value.find((one) => one.state === state);
    if (bucket !== undefined) return upToDate(deps, owner, bucket, options);
  }
  return ok(undefined);
};
