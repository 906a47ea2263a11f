/** Lists and deletes the objects of a volume, and creates signed URLs. Uploads and downloads bypass the API. */
import { grantMinutes } from "../../domain/accounts/limits.ts";
import type { SourceObject } from "../../domain/deploy/fields.ts";
import { comparePaths, type ObjectPath } from "../../domain/volumes/object-path.ts";
import type { DownloadGrant, ObjectPage, UploadGrant } from "../../domain/volumes/volume.ts";
import type { Values } from "../../domain/wire/fields.ts";
import { plusMillis, timestampOf } from "../../domain/wire/instant.ts";
import { type Issue, issue } from "../../domain/wire/issue.ts";
import type { VolumeName } from "../../domain/wire/names.ts";
import { objectFields, objectsFields, uploadFields } from "../../domain/wire/requests.ts";
import { invalidInput } from "../../errors.ts";
import type { ObjectListing } from "../../ports/volume-store.ts";
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
  if (!("object" in valid && "path" in valid)) return err([]);
  const { object, path } = valid;
  const target = object ?? path;
  if (target === undefined) return err([issue(["object"], "is required: the object's path", "missing")]);
  return object !== undefined && path !== undefined && object !== path
    ? err([issue(["path"], `is '${path}', but object is '${object}'; send only one`, "value_error")])
    : ok({ target });
};

/**
 * Returns a URL to PUT an object, or URLs for its parts if the object is too large for one PUT. Never creates the
 * volume.
 */
export const grantUpload = useCase({
  fields: uploadFields,
  check: checkTarget,
  requires: volumeStore,
  authorize: ownVolume,
  run: ({ context: { ports }, input: { target: path, size }, options }, volume) =>
    safeTry(async function* () {
      const { volumes } = ports.provider;
      const { uploadsInParts: inParts } = volumes;
      const until = plusMillis(ports.clock.now(), grantMinutes.upload * 60_000);
      if (inParts === undefined || size <= inParts.above) {
        const { url, expiresAt } = yield* await volumes.grantUpload(volume, path, until, options);
        return ok<UploadGrant>({ url, method: "PUT", expires_at: timestampOf(expiresAt) });
      }
      if (size > inParts.maxBytes) {
        const message = `must be at most ${inParts.maxBytes}, the maximum size of an object in bytes`;
        return err(invalidInput([issue(["size"], message, "less_than_equal")]));
      }
      const { parts, completeUrl, expiresAt } = yield* await inParts.grant(volume, path, size, until, options);
      return ok<UploadGrant>({ parts: [...parts], complete_url: completeUrl, expires_at: timestampOf(expiresAt) });
    }),
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
