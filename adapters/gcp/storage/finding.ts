/** Which of an account's buckets stands for a volume now; one that was hidden and forgotten is shown on the way. */
import type { AccountId } from "../../../core/domain/account.ts";
import type { VolumeName } from "../../../core/domain/names.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok } from "../../../core/result.ts";
import type { Answer } from "./api.ts";
import type { VolumeBucket } from "./bucket.ts";
import type { Parts } from "./parts.ts";

/**
 * Ends the hiding of a bucket where it is due, seen anew. Undefined: it does not live.
 *
 * @param isDue asked of a bucket that is hidden
 */
export const reveal = async (
  { buckets }: Parts,
  owner: AccountId,
  id: string,
  isDue: (bucket: VolumeBucket) => boolean,
  options: CallOptions,
): Answer<VolumeBucket | undefined> => {
  const shown = await buckets.change(
    owner,
    id,
    (bucket) => (bucket?.state === "hidden" && isDue(bucket) ? { to: "live" } : { stop: bucket }),
    options,
  );
  return shown.map((end) => ("bucket" in end ? end.bucket : end.stop));
};

/** The bucket, shown if its hiding was forgotten. */
export const upToDate = (
  parts: Parts,
  owner: AccountId,
  bucket: VolumeBucket,
  options: CallOptions,
): Answer<VolumeBucket | undefined> => {
  const isForgotten = (one: VolumeBucket): boolean => parts.buckets.isForgotten(one);
  return isForgotten(bucket) ? reveal(parts, owner, bucket.id, isForgotten, options) : Promise.resolve(ok(bucket));
};

/** By how much they stand for the name; what is made or deleted does not. */
const order: readonly VolumeBucket["state"][] = ["live", "hidden", "restoring"];

/** The bucket that stands for the name: live, hidden, or on its way back. Undefined: the name is free. */
export const current = async (
  parts: Parts,
  owner: AccountId,
  name: VolumeName,
  options: CallOptions,
): Answer<VolumeBucket | undefined> => {
  const found = await parts.buckets.ofVolume(owner, name, options);
  if (found.isErr()) return err(found.error);
  for (const state of order) {
    const bucket = found.value.find((one) => one.state === state);
    if (bucket !== undefined) return upToDate(parts, owner, bucket, options);
  }
  return ok(undefined);
};
