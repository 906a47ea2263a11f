/** Lists and deletes the objects of a volume, and creates signed URLs. Uploads and downloads bypass the API. */
import { grantMinutes, uploadHours } from "../../domain/accounts/limits.ts";
import type { SourceObject } from "../../domain/deploy/fields.ts";
import { comparePaths, type ObjectPath } from "../../domain/volumes/object-path.ts";
import { formatUploadId, parseUploadId, type ResumableUpload } from "../../domain/volumes/upload-id.ts";
import {
  partsOf,
  pendingUploadsProblem,
  type StoredPart,
  storedTag,
  uploadExpiry,
} from "../../domain/volumes/upload-parts.ts";
import type { DownloadGrant, MultipartGrant, ObjectPage, UploadGrant } from "../../domain/volumes/volume.ts";
import { refusal } from "../../domain/wire/capabilities.ts";
import type { Values } from "../../domain/wire/fields.ts";
import { plusMillis, timestampOf } from "../../domain/wire/instant.ts";
import { type Issue, issue } from "../../domain/wire/issue.ts";
import type { VolumeName } from "../../domain/wire/names.ts";
import { objectFields, objectsFields, resumeUploadFields, uploadFields } from "../../domain/wire/requests.ts";
import { invalidInput, notFound } from "../../errors.ts";
import type { ObjectListing, StoredVolume, UploadsInParts } from "../../ports/volume-store.ts";
import { err, ok, type Result, safeTry } from "../../result.ts";
import { type Call, type Caller, useCase } from "../pipeline/use-case.ts";
import { findOwnVolume, volumeStore } from "./volumes.ts";

const ownVolume = (call: Call<{ readonly volume: VolumeName }>) => findOwnVolume(call, call.input.volume);

/** Returns the last object or folder of a page. */
const lastOf = ({ objects, folders }: ObjectListing): string | null => {
  const [object, folder] = [objects.at(-1)?.path, folders.at(-1)];
  if (object === undefined || folder === undefined) return object ?? folder ?? null;
  return comparePaths(object, folder) > 0 ? object : folder;
};

/**
 * Lists a page of the volume's objects. The page token is the last path or folder of the page and therefore never
 * expires.
 */
export const listObjects = useCase({
  fields: objectsFields,
  requires: volumeStore,
  authorize: ownVolume,
  run: async ({ context, input, options }, volume) => {
    const { prefix, delimiter, page_token: after, limit } = input;
    const query = { prefix, limit, ...(after !== "" && { after }), ...(delimiter !== "" && { delimiter }) };
    const listed = await context.ports.provider.volumes.objects(volume, query, options);
    return listed.map(
      (page): ObjectPage => ({
        objects: page.objects.map(({ path, size, updated }) => ({ path, size, updated })),
        ...(delimiter !== "" && { folders: [...page.folders] }),
        next_page_token: page.more ? lastOf(page) : null,
      }),
    );
  },
});

export const deleteObject = useCase({
  fields: objectFields,
  requires: volumeStore,
  authorize: ownVolume,
  run: ({ context, input: { path }, options }, volume) =>
    context.ports.provider.volumes
      .remove(volume, path, options)
      .map(() => ({ detail: `'${path}' was deleted from '${volume.name}'.` })),
});

/** Requires `object` or its alias `path`. If both are present, they must have the same value. */
const checkTarget = (
  valid: Partial<Values<typeof uploadFields>>,
): Result<{ readonly target: ObjectPath }, readonly Issue[]> => {
  const issues: Issue[] = [];
  if (valid.resumable === true && valid.size === 0)
    issues.push(issue(["size"], "is required: a resumable upload needs the object's size, at least 1 byte", "missing"));
  if (!("object" in valid && "path" in valid)) return err(issues);
  const { object, path } = valid;
  const target = object ?? path;
  if (target === undefined) issues.push(issue(["object"], "is required: the object's path", "missing"));
  else if (object !== undefined && path !== undefined && object !== path)
    issues.push(issue(["path"], `is '${path}', but object is '${object}'; send only one`, "value_error"));
  return target === undefined || issues.length > 0 ? err(issues) : ok({ target });
};

/**
 * Returns the URLs of an upload in parts.
 * @param stored the parts that the storage has
 */
const grantParts = (
  { context: { ports }, options }: Caller,
  uploads: UploadsInParts,
  volume: StoredVolume,
  upload: ResumableUpload,
  stored: readonly StoredPart[],
) => {
  const { path, id, size, startedAt } = upload;
  const parts = partsOf(size, uploads.bounds);
  let until = plusMillis(ports.clock.now(), grantMinutes.upload * 60_000);
  if (until > uploadExpiry(startedAt)) until = uploadExpiry(startedAt);
  return uploads.grant({ volume, path, id }, parts, until, options).map(
    ({ urls, completeUrl, expiresAt }): MultipartGrant => ({
      upload_id: formatUploadId(upload),
      parts: parts.map((part, index) => {
        const etag = storedTag(part, stored);
        return {
          number: part.number,
          url: urls[index] ?? "",
          offset: part.offset,
          length: part.length,
          ...(etag !== undefined && { etag }),
        };
      }),
      complete_url: completeUrl,
      expires_at: timestampOf(expiresAt),
    }),
  );
};

/**
 * Returns a URL to PUT an object, or URLs for its parts if the object is too large for one PUT or the upload must be
 * resumable. Never creates the volume.
 */
export const grantUpload = useCase({
  fields: uploadFields,
  check: checkTarget,
  requires: volumeStore,
  authorize: ownVolume,
  run: (call, volume) =>
    safeTry(async function* () {
      const { context, input, options } = call;
      const { target: path, size, resumable } = input;
      const { ports } = context;
      const { volumes, capabilities } = ports.provider;
      const { uploadsInParts: inParts } = volumes;
      const unsupported = resumable ? refusal(capabilities.volumes.resumable_uploads) : undefined;
      if (unsupported !== undefined) return err(unsupported);
      if (inParts === undefined || (!resumable && size <= inParts.above)) {
        const until = plusMillis(ports.clock.now(), grantMinutes.upload * 60_000);
        const { url, expiresAt } = yield* await volumes.grantUpload(volume, path, until, options);
        return ok<UploadGrant>({ url, method: "PUT", expires_at: timestampOf(expiresAt) });
      }
      if (size > inParts.maxBytes) {
        const message = `must be at most ${inParts.maxBytes}, the maximum size of an object in bytes`;
        return err(invalidInput([issue(["size"], message, "less_than_equal")]));
      }
      const pending = yield* await inParts.pending(volume, options);
      const problem = pendingUploadsProblem(pending, capabilities.volumes.incomplete_upload_hours);
      if (problem !== undefined) return err(invalidInput([issue(["volume"], problem, "quota_exceeded")]));
      const startedAt = ports.clock.now();
      const id = yield* await inParts.begin(volume, path, options);
      const upload = { volume: volume.name, bucket: volume.id, path, size, startedAt, id };
      return ok<UploadGrant>(yield* await grantParts(call, inParts, volume, upload, []));
    }),
});

const noUpload = () =>
  notFound(
    `Your account has no such upload. It may be complete, or its volume may be deleted; an upload expires ${uploadHours} hours after its start. Start a new upload.`,
  );

/** Finds the upload with the id, and its volume. Fails with `not_found` if the account has no such upload. */
const findOwnUpload = async (call: Call<{ readonly upload_id: string }>) => {
  const { provider, clock } = call.context.ports;
  const upload = parseUploadId(call.input.upload_id);
  const uploads = provider.volumes.uploadsInParts;
  if (upload === undefined || uploads === undefined || upload.size > uploads.maxBytes) return err(noUpload());
  if (clock.now() >= uploadExpiry(upload.startedAt)) return err(noUpload());
  const found = await findOwnVolume(call, upload.volume);
  if (found.isErr()) return err(found.error.kind === "forbidden" ? noUpload() : found.error);
  return found.value.id === upload.bucket ? ok({ uploads, upload, volume: found.value }) : err(noUpload());
};

/** Returns new URLs for an upload in parts, and the parts that the storage has. */
export const resumeUpload = useCase({
  fields: resumeUploadFields,
  requires: ({ volumes }) => (volumes.store.supported ? volumes.resumable_uploads : volumes.store),
  authorize: findOwnUpload,
  run: (call, { uploads, upload, volume }) =>
    uploads
      .stored({ volume, path: upload.path, id: upload.id }, call.options)
      .mapErr((error) => (error.kind === "not_found" ? noUpload() : error))
      .andThen((stored) => grantParts(call, uploads, volume, upload, stored)),
});

/** Returns a URL to GET an existing object. */
export const grantDownload = useCase({
  fields: objectFields,
  requires: volumeStore,
  authorize: ownVolume,
  run: ({ context: { ports }, input: { path }, options }, volume) =>
    safeTry(async function* () {
      const { volumes } = ports.provider;
      yield* await volumes.stat(volume, path, options);
      const until = plusMillis(ports.clock.now(), grantMinutes.download * 60_000);
      const { url, expiresAt } = yield* await volumes.grantDownload(volume, path, until, options);
      return ok<DownloadGrant>({ url, expires_at: timestampOf(expiresAt) });
    }),
});

/** Finds the source object of a deploy. Returns a function that opens the object. */
export const findSourceObject = (caller: Caller, { volume: name, path }: SourceObject) =>
  safeTry(async function* () {
    const { volumes } = caller.context.ports.provider;
    const volume = yield* await findOwnVolume(caller, name);
    yield* await volumes.stat(volume, path, caller.options);
    return ok(() => volumes.read(volume, path));
  });
