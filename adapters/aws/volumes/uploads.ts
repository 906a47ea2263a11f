/**
 * Signs the URLs of uploads that are too large for one PUT: one URL per part, and one that completes the upload.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
 */

import { GiB, MiB } from "../../../core/domain/accounts/limits.ts";
import type { ObjectPath } from "../../../core/domain/volumes/object-path.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import { type NotFound, notFound, type Unavailable } from "../../../core/errors.ts";
import type { PartsGrant, StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, ok, type ResultAsync, safeTry } from "../../../core/result.ts";
import type { S3Api } from "./s3-calls.ts";
import type { Signer } from "./signing.ts";

const load = () => import("@aws-sdk/client-s3");

const MAX_PART_BYTES = 5 * GiB;
const MAX_PARTS = 10_000;

/** Maximum size of a single PUT. */
export const putMax = 5 * GiB;
export const objectMax = MAX_PARTS * MAX_PART_BYTES;

/**
 * A client repeats a failed part as a whole, so small parts make retries cheaper. However, a response with thousands of
 * URLs is slow.
 */
const MIN_PART_BYTES = 512 * MiB;
const TARGET_PARTS = 256;

export interface PartRange {
  readonly offset: number;
  readonly length: number;
}

export const partsOf = (size: number): PartRange[] => {
  const length = Math.min(MAX_PART_BYTES, Math.max(MIN_PART_BYTES, Math.ceil(size / TARGET_PARTS)));
  const ranges: PartRange[] = [];
  for (let offset = 0; offset < size; offset += length)
    ranges.push({ offset, length: Math.min(length, size - offset) });
  return ranges;
};

export const grantParts = (
  api: S3Api,
  signer: Signer,
  { id: Bucket, name }: StoredVolume,
  Key: ObjectPath,
  size: number,
  until: Instant,
): ResultAsync<PartsGrant, NotFound | Unavailable> =>
  safeTry(async function* () {
    const UploadId = yield* await api.createUpload(Bucket, Key);
    if (UploadId === "not_found") return err(notFound(`The volume '${name}' does not exist.`));
    const { expiresAt, sign } = yield* await signer.until(until);
    const { CompleteMultipartUploadCommand, UploadPartCommand } = await load();
    const parts: PartsGrant["parts"][number][] = [];
    for (const [index, range] of partsOf(size).entries()) {
      const url = await sign(new UploadPartCommand({ Bucket, Key, UploadId, PartNumber: index + 1 }));
      parts.push({ url, ...range });
    }
    const completeUrl = await sign(new CompleteMultipartUploadCommand({ Bucket, Key, UploadId }));
    return ok({ parts, completeUrl, expiresAt });
  });
