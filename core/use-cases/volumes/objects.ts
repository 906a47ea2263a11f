/** The objects of a volume: list, delete, and signed URLs for upload and download. Their bytes never pass through Portside. */
import { grantMinutes } from "../../domain/accounts/limits.ts";
import type { SourceObject } from "../../domain/deploy/fields.ts";
import type { ObjectPath } from "../../domain/volumes/object-path.ts";
import type { DownloadGrant, ObjectPage, UploadGrant } from "../../domain/volumes/volume.ts";
import type { Values } from "../../domain/wire/fields.ts";
import { type Instant, plusMillis, timestampOf } from "../../domain/wire/instant.ts";
import { type Issue, issue } from "../../domain/wire/issue.ts";
import type { VolumeName } from "../../domain/wire/names.ts";
import { objectFields, objectsFields, uploadFields } from "../../domain/wire/requests.ts";
import { type ControlPlaneError, invalidInput } from "../../errors.ts";
import type { CallOptions } from "../../ports/system.ts";
import type { StoredVolume, UploadsInParts } from "../../ports/volume-store.ts";
import { err, ok, type Result, safeTry } from "../../result.ts";
import { type Call, type Caller, useCase } from "../pipeline/use-case.ts";
import { findOwnVolume, volumeStore } from "./volumes.ts";

const ownVolume = (call: Call<{ readonly volume: VolumeName }>) => findOwnVolume(call, call.input.volume);

/** Lists a page of the volume's objects. The page token is the path of the last object, so it never expires. */
export const listObjects = useCase({
  fields: objectsFields,
  requires: volumeStore,
  authorize: ownVolume,
  run: async ({ context, input, options }, volume) => {
    const { prefix, page_token: after, limit } = input;
    const query = { prefix, limit, ...(after === "" ? {} : { after }) };
    const listed = await context.ports.provider.volumes.objects(volume, query, options);
    return listed.map(
      ({ objects, more }): ObjectPage => ({
        objects: objects.map(({ path, size, updated }) => ({ path, size, updated })),
        next_page_token: more ? (objects.at(-1)?.path ?? null) : null,
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

/** Requires `object` or `path`, which are two names of one field, or both with the same value. */
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

/** Grants an upload in parts, for an object that is too large for one PUT. */
const grantParts = async (
  uploads: UploadsInParts,
  volume: StoredVolume,
  { path, size, until }: { readonly path: ObjectPath; readonly size: number; readonly until: Instant },
  options: CallOptions,
): Promise<Result<UploadGrant, ControlPlaneError>> => {
  const tooLarge = issue(
    ["size"],
    `must be at most ${uploads.maxBytes}, the most that an object may have`,
    "less_than_equal",
  );
  if (size > uploads.maxBytes) return err(invalidInput([tooLarge]));
  const granted = await uploads.grant(volume, path, size, until, options);
  return granted.map(({ parts, completeUrl, expiresAt }) => ({
    parts: [...parts],
    complete_url: completeUrl,
    expires_at: timestampOf(expiresAt),
  }));
};

/** Grants a PUT of one object, or of its parts if it is too large for one. Never creates the volume. */
export const grantUpload = useCase({
  fields: uploadFields,
  check: checkTarget,
  requires: volumeStore,
  authorize: ownVolume,
  run: async (
    { context, input: { target: path, size }, options },
    volume,
  ): Promise<Result<UploadGrant, ControlPlaneError>> => {
    const until = plusMillis(context.ports.clock.now(), grantMinutes.upload * 60_000);
    const { volumes } = context.ports.provider;
    const { uploadsInParts } = volumes;
    if (uploadsInParts !== undefined && size > uploadsInParts.above)
      return await grantParts(uploadsInParts, volume, { path, size, until }, options);
    const granted = await volumes.grantUpload(volume, path, until, options);
    return granted.map(({ url, expiresAt }) => ({ url, method: "PUT" as const, expires_at: timestampOf(expiresAt) }));
  },
});

/** Grants a GET of one existing object. */
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

/** Finds the source that a deploy names as `VOLUME/PATH`. Returns a function that opens it. */
export const findSourceObject = (caller: Caller, { volume: name, path }: SourceObject) =>
  safeTry(async function* () {
    const { volumes } = caller.context.ports.provider;
    const volume = yield* await findOwnVolume(caller, name);
    yield* await volumes.stat(volume, path, caller.options);
    return ok(() => volumes.read(volume, path));
  });
