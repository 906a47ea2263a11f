/** Checks that web pages can use the signed URLs of volumes. */
import type { BucketMetadata } from "@google-cloud/storage";
import { type Finding, pass, warn } from "../../../core/domain/wire/check.ts";
import { type Get, problemOf } from "../rest-get.ts";
import { readBucket } from "./bucket.ts";
import { hasCors } from "./bucket-settings.ts";
import { BUCKET_PREFIX } from "./names.ts";

const WHAT = "web pages may use the URLs of volumes";

/**
 * Checks up to 1,000 buckets, with one call:
 * https://docs.cloud.google.com/storage/docs/json_api/v1/buckets/list
 */
export const checkCors = async (project: string, get: Get): Promise<Finding> => {
  const fields = encodeURIComponent("items(name,labels,cors)");
  const url = `https://storage.googleapis.com/storage/v1/b?project=${project}&prefix=${BUCKET_PREFIX}&fields=${fields}`;
  const found = await get<{ readonly items?: readonly BucketMetadata[] }>(url);
  if (found.isErr()) return warn(WHAT, `the check failed: ${problemOf(found.error)}`);
  const live = (found.value.items ?? []).flatMap((one) => readBucket(one) ?? []).filter((one) => one.state === "live");
  const without = live.filter((one) => !hasCors(one)).map(({ id }) => id);
  return without.length === 0
    ? pass(WHAT, `buckets checked: ${live.length}`)
    : warn(
        WHAT,
        `buckets without Portside's CORS rules: ${without.length} of ${live.length}, such as ${without[0]}`,
        "start the server, which sets the rules: portside serve --provider gcp",
      );
};
