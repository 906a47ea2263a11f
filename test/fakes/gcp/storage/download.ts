/**
 * Sends an object's bytes, whole or as a range, for both APIs:
 * https://cloud.google.com/storage/docs/xml-api/reference-headers#range,
 * https://www.rfc-editor.org/rfc/rfc9110#section-14
 */
import parseRange from "range-parser";
import { crc32c } from "./crc32c.ts";
import { failure, type Reply } from "./failure.ts";
import { md5, type ObjectVersion } from "./world.ts";

export interface DownloadRequest {
  /** The `Range` header. */
  readonly range: string | undefined;
  /** The API's error reason for a range outside the object. */
  readonly refusal: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Given several ranges, sends the first. */
export const download = (object: ObjectVersion, { range, refusal, headers: more }: DownloadRequest): Reply => {
  const { bytes, contentType, generation } = object;
  const headers = {
    "content-type": contentType,
    "x-goog-generation": String(generation),
    // Hashes cover the whole object, even in a partial response.
    "x-goog-hash": `crc32c=${crc32c(bytes)},md5=${md5(bytes, "base64")}`,
    ...more,
  };
  const ranges = range === undefined ? undefined : parseRange(bytes.length, range);
  if (ranges === -1) throw failure(416, refusal, "The requested range cannot be satisfied.");
  const one = typeof ranges === "object" ? ranges[0] : undefined;
  if (one === undefined) return { status: 200, headers: { ...headers, "content-length": bytes.length }, body: bytes };
  const body = bytes.subarray(one.start, one.end + 1);
  const part = { "content-range": `bytes ${one.start}-${one.end}/${bytes.length}`, "content-length": body.length };
  return { status: 206, headers: { ...headers, ...part }, body };
};
