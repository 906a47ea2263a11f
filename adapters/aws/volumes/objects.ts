/**
 * Lists, stats, reads and removes a bucket's objects. Returns `no_volume` for a volume in the trash, even if its bucket
 * still contains objects.
 */

import type { ListObjectsV2CommandOutput } from "@aws-sdk/client-s3";
import { instantOfMillis } from "../../../core/domain/wire/instant.ts";
import type { StoredVolume } from "../../../core/ports/volume-store.ts";
import { okAsync } from "../../../core/result.ts";
import type { ApiResult } from "../../cloud/calls/expect-states.ts";
import type { BucketObject, ObjectDriver } from "../../cloud/volumes/driver.ts";
import { decodedKey } from "./s3-calls.ts";
import type { VolumeCall } from "./volume-call.ts";

/** Rounds down to seconds, because HeadObject returns HTTP dates in whole seconds. */
const statOf = (size = 0, at?: Date): Omit<BucketObject, "key"> => ({
  size,
  updated: instantOfMillis(Math.floor((at?.getTime() ?? 0) / 1000) * 1000),
});

const orNoObject = <T>(found: T | "not_found" | "no_volume"): T | "no_object" | "no_volume" =>
  found === "not_found" ? "no_object" : found;

async function* emptyBody(): AsyncGenerator<Uint8Array> {}

/** Reads the record first, because the policy that closes a bucket takes effect with a delay. */
export const whenLive =
  ({ records }: VolumeCall) =>
  <T>({ id }: StoredVolume, act: () => ApiResult<T>): ApiResult<T | "no_volume"> =>
    records
      .get(id)
      .andThen(
        (found): ApiResult<T | "no_volume"> =>
          found?.state === "live" || found?.state === "hidden" ? act() : okAsync("no_volume"),
      );

export const bucketObjects = (call: VolumeCall): ObjectDriver => {
  const { api } = call;
  const ifLive = whenLive(call);

  return {
    page: (volume, { prefix: Prefix, after, delimiter: Delimiter, limit: MaxKeys, token }) => {
      const read = (from: { StartAfter: string | undefined } | { ContinuationToken: string }) =>
        api.objects({ Bucket: volume.id, Prefix, Delimiter, MaxKeys, ...from });
      // Only the first page of a listing reads the record.
      const found: ApiResult<ListObjectsV2CommandOutput | "not_found" | "no_volume"> =
        token === undefined ? ifLive(volume, () => read({ StartAfter: after })) : read({ ContinuationToken: token });
      return found.map((page) => {
        if (page === "not_found" || page === "no_volume") return "no_volume";
        const objects = (page.Contents ?? []).map(({ Key = "", Size, LastModified }) => ({
          key: decodedKey(Key),
          ...statOf(Size, LastModified),
        }));
        const folders = (page.CommonPrefixes ?? []).map(({ Prefix: folder = "" }) => decodedKey(folder));
        return { objects, folders, next: page.NextContinuationToken };
      });
    },

    stat: (volume, path) =>
      ifLive(volume, () => api.head(volume.id, path))
        .map(orNoObject)
        .map((found) => (typeof found === "string" ? found : statOf(found.ContentLength, found.LastModified))),

    /**
     * A response contains the bytes of one version:
     * https://docs.aws.amazon.com/AmazonS3/latest/userguide/Welcome.html#ConsistencyModel
     */
    read: (volume, path) =>
      ifLive(volume, () => api.get(volume.id, path))
        .map(orNoObject)
        .map((found) =>
          typeof found === "string" ? found : ((found.Body as AsyncIterable<Uint8Array> | undefined) ?? emptyBody()),
        ),

    remove: (volume, path) => ifLive(volume, () => api.deleteObject(volume.id, path)).map(orNoObject),
  };
};
