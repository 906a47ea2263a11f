/**
 * Uploads in parts, with S3's multipart uploads. S3 deletes incomplete uploads by a lifecycle rule
 * (`bucket-settings.ts`).
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html
 */

import { GiB, MiB, pendingUploadsMax } from "../../../core/domain/accounts/limits.ts";
import type { StoredPart } from "../../../core/domain/volumes/upload-parts.ts";
import { notFound } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import type { StoredVolume, UploadsInParts } from "../../../core/ports/volume-store.ts";
import { err, ok, safeTry } from "../../../core/result.ts";
import { whenLive } from "./objects.ts";
import type { Signer } from "./signing.ts";
import type { VolumeCall } from "./volume-call.ts";

const load = () => import("@aws-sdk/client-s3");

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html */
const MAX_PART_BYTES = 5 * GiB;
const MAX_PARTS = 10_000;

const s3Limits: Pick<UploadsInParts, "above" | "maxBytes" | "bounds"> = {
  above: 5 * GiB,
  maxBytes: MAX_PARTS * MAX_PART_BYTES,
  bounds: { minBytes: 5 * MiB, maxBytes: MAX_PART_BYTES, maxParts: MAX_PARTS },
};

const noVolume = ({ name }: StoredVolume) => notFound(`The volume '${name}' does not exist.`);

/** @param callOf returns a call that acts for the account of the volume */
export const s3Uploads = (
  callOf: (volume: StoredVolume, options?: CallOptions) => VolumeCall,
  signer: Signer,
): UploadsInParts => ({
  ...s3Limits,

  pending: (volume, options) => {
    const call = callOf(volume, options);
    return whenLive(call)(volume, () => call.api.uploads(volume.id, pendingUploadsMax)).andThen((found) =>
      found === "not_found" || found === "no_volume" ? err(noVolume(volume)) : ok(found.length),
    );
  },

  begin: (volume, path, options) => {
    const call = callOf(volume, options);
    return whenLive(call)(volume, () => call.api.createUpload(volume.id, path)).andThen((id) =>
      id === "not_found" || id === "no_volume" ? err(noVolume(volume)) : ok(id.upload),
    );
  },

  stored: ({ volume, path, id }, options) =>
    safeTry(async function* () {
      const call = callOf(volume, options);
      const parts: StoredPart[] = [];
      let after: string | undefined;
      do {
        const page = yield* whenLive(call)(volume, () => call.api.uploadedParts(volume.id, path, id, after));
        if (page === "not_found" || page === "no_volume") return err(notFound("The upload does not exist."));
        for (const { PartNumber = 0, Size = 0, ETag = "" } of page.Parts ?? [])
          parts.push({ number: PartNumber, size: Size, etag: ETag });
        after = page.IsTruncated === true ? page.NextPartNumberMarker : undefined;
      } while (after !== undefined);
      return ok(parts);
    }),

  grant: ({ volume, path: Key, id: UploadId }, parts, until) =>
    signer.until(until).map(async ({ expiresAt, sign }) => {
      const { CompleteMultipartUploadCommand, UploadPartCommand } = await load();
      const upload = { Bucket: volume.id, Key, UploadId };
      const urls: string[] = [];
      // S3 rejects a body of a different length, because the URL's signature covers the header Content-Length.
      for (const { number, length } of parts)
        urls.push(await sign(new UploadPartCommand({ ...upload, PartNumber: number, ContentLength: length })));
      return { urls, completeUrl: await sign(new CompleteMultipartUploadCommand(upload)), expiresAt };
    }),
});
