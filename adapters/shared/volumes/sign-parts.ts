/** Signs the URLs of uploads in parts to Portside's own storage. */
import { GiB, MiB } from "../../../core/domain/accounts/limits.ts";
import type { PartRange } from "../../../core/domain/volumes/upload-parts.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { PartsGrant, PendingUpload, UploadsInParts } from "../../../core/ports/volume-store.ts";
import { signUrl } from "./signed-url.ts";

const MAX_PART_BYTES = 5 * GiB;
const MAX_PARTS = 10_000;

/**
 * The limits of Portside's own storage, which are those of S3, except that one PUT may have any size and that a part
 * needs only 1 MiB instead of 5 MiB.
 */
export const storageParts: Pick<UploadsInParts, "above" | "maxBytes" | "bounds"> = {
  above: Number.POSITIVE_INFINITY,
  maxBytes: MAX_PARTS * MAX_PART_BYTES,
  bounds: { minBytes: MiB, maxBytes: MAX_PART_BYTES, maxParts: MAX_PARTS },
};

/** @param base the base URL of the storage */
export const signParts = (
  key: string,
  base: string,
  { volume: { id: bucket }, path, id: upload }: PendingUpload,
  parts: readonly PartRange[],
  until: Instant,
): PartsGrant => {
  const size = parts.reduce((sum, { length }) => sum + length, 0);
  const { url: completeUrl, expiresAt } = signUrl(key, base, { method: "POST", bucket, path }, until, {
    upload,
    part: 0,
    length: size,
  });
  const urls = parts.map(
    ({ number: part, length }) =>
      signUrl(key, base, { method: "PUT", bucket, path }, until, { upload, part, length }).url,
  );
  return { urls, completeUrl, expiresAt };
};
