/**
 * Uploads in parts, with the multipart uploads of Cloud Storage's XML API, which have S3's format. Cloud Storage
 * deletes incomplete uploads by a lifecycle rule (`bucket-settings.ts`).
 * https://cloud.google.com/storage/docs/multipart-uploads
 */
import { GiB, MiB, pendingUploadsMax } from "../../../core/domain/accounts/limits.ts";
import type { PartRange, StoredPart } from "../../../core/domain/volumes/upload-parts.ts";
import { instantOfMillis, millisOf } from "../../../core/domain/wire/instant.ts";
import { notFound, type Unavailable, unavailable } from "../../../core/errors.ts";
import type { PartsGrant, UploadsInParts } from "../../../core/ports/volume-store.ts";
import { err, ok, type Result, ResultAsync, safeTry } from "../../../core/result.ts";
import { xmlElements, xmlField } from "../../shared/volumes/xml-field.ts";
import { ensureUploadsExpire } from "./bucket-settings.ts";
import { lifetimeOf, refusedSignature } from "./grants.ts";
import { StorageApi } from "./storage-calls.ts";
import type { VolumeStoreDeps } from "./volume-call.ts";

/** https://cloud.google.com/storage/quotas#objects, .../quotas#requests */
const MAX_OBJECT_BYTES = 5 * 1024 * GiB;

/** If the credentials have no key, each signature is a call to IAM. */
const SIGNED_CONCURRENTLY = 20;

const partOf = (xml: string): StoredPart => ({
  number: Number(xmlField(xml, "PartNumber")),
  size: Number(xmlField(xml, "Size")),
  etag: xmlField(xml, "ETag") ?? "",
});

const noVolume = (name: string) => notFound(`The volume '${name}' does not exist.`);
const rejected = () => unavailable("Cloud Storage rejected a request about uploads. Try again.", 5);

export const createUploads = (deps: VolumeStoreDeps): UploadsInParts => ({
  above: MAX_OBJECT_BYTES,
  maxBytes: MAX_OBJECT_BYTES,
  bounds: { minBytes: 5 * MiB, maxBytes: 5 * GiB, maxParts: 10_000 },

  pending: ({ id: bucket, name: volume }, options) => {
    const query = { uploads: "", "max-uploads": String(pendingUploadsMax) };
    return new StorageApi(deps, options?.signal)
      .xml("uploads.count", "GET", { bucket, name: "" }, query)
      .andThen((found) => {
        if (found === "not_found") return err(noVolume(volume));
        return found === "invalid" ? err(rejected()) : ok(xmlElements(found, "Upload").length);
      });
  },

  begin: ({ id: bucket, name: volume }, path, options) =>
    safeTry(async function* () {
      const api = new StorageApi(deps, options?.signal);
      yield* await ensureUploadsExpire(api, bucket);
      const begun = yield* await api.xml("uploads.begin", "POST", { bucket, name: path }, { uploads: "" });
      if (begun === "invalid") return err(rejected());
      const id = xmlField(begun, "UploadId");
      return id === undefined ? err(noVolume(volume)) : ok(id);
    }),

  stored: ({ volume: { id: bucket }, path, id: uploadId }, options) =>
    safeTry(async function* () {
      const api = new StorageApi(deps, options?.signal);
      const parts: StoredPart[] = [];
      for (let after: string | undefined = "0"; after !== undefined; ) {
        const query: Record<string, string> = { uploadId, "part-number-marker": after };
        const page: string = yield* await api.xml("uploads.list", "GET", { bucket, name: path }, query);
        if (page === "not_found" || page === "invalid") return err(notFound("The upload does not exist."));
        parts.push(...xmlElements(page, "Part").map(partOf));
        after = xmlField(page, "IsTruncated") === "true" ? xmlField(page, "NextPartNumberMarker") : undefined;
      }
      return ok(parts);
    }),

  grant: ({ volume, path, id: uploadId }, parts, until) => {
    const signed = async (): Promise<Result<PartsGrant, Unavailable>> => {
      const lifetime = lifetimeOf(millisOf(deps.clock.now()), millisOf(until));
      const file = (await deps.storage()).bucket(volume.id).file(path);
      const unsigned = file.publicUrl();
      // An unsigned URL grants nothing: no bucket is public.
      if (lifetime === undefined)
        return ok({ urls: parts.map(() => unsigned), completeUrl: unsigned, expiresAt: until });
      const config = { version: "v4", ...lifetime } as const;
      // Cloud Storage rejects a body of a different length, because the URL's signature covers the header.
      const sign = async ({ number, length }: PartRange): Promise<string> => {
        const queryParams = { partNumber: String(number), uploadId };
        const extensionHeaders = { "content-length": String(length) };
        const [url] = await file.getSignedUrl({ ...config, action: "write", queryParams, extensionHeaders });
        return url;
      };
      try {
        const urls: string[] = [];
        for (let at = 0; at < parts.length; at += SIGNED_CONCURRENTLY)
          urls.push(...(await Promise.all(parts.slice(at, at + SIGNED_CONCURRENTLY).map(sign))));
        // A file's `getSignedUrl` cannot sign a POST. The file's signer can; the first signed URL creates the signer.
        const completeUrl = await file.signer?.getSignedUrl({ ...config, method: "POST", queryParams: { uploadId } });
        return ok({ urls, completeUrl: completeUrl ?? unsigned, expiresAt: instantOfMillis(lifetime.expires) });
      } catch (error) {
        return err(refusedSignature(deps.logger, error));
      }
    };
    return new ResultAsync(signed());
  },
});
