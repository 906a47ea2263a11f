/** The objects of a volume: list, delete, and signed URLs to put and get them. Their bytes never come through here. */
import type { Principal } from "../../domain/accounts/account.ts";
import { grantMinutes } from "../../domain/accounts/limits.ts";
import type { ObjectPath } from "../../domain/volumes/object-path.ts";
import type { DownloadGrant, ObjectPage, UploadGrant } from "../../domain/volumes/volume.ts";
import { parseFields } from "../../domain/wire/fields.ts";
import { type Instant, plusMillis, timestampOf } from "../../domain/wire/instant.ts";
import { type Issue, issue } from "../../domain/wire/issue.ts";
import type { VolumeName } from "../../domain/wire/names.ts";
import { objectFields, objectsFields, uploadFields } from "../../domain/wire/requests.ts";
import { type ControlPlaneError, invalidInput } from "../../errors.ts";
import type { CallOptions } from "../../ports/system.ts";
import type { StoredVolume, UploadsInParts } from "../../ports/volume-store.ts";
import { err, ok, type Result, type ResultAsync } from "../../result.ts";
import { catchBugs } from "../pipeline/catch-bugs.ts";
import type { Context } from "../pipeline/context.ts";
import type { Raw } from "../pipeline/raw.ts";
import { admitted, ownVolume } from "./volumes.ts";

/** A page of the volume's objects; its token is the path of its last object, so a page never depends on the one before. */
export const listObjects = (
  context: Context,
  principal: Principal,
  raw: Raw,
  options: CallOptions = {},
): ResultAsync<ObjectPage, ControlPlaneError> =>
  catchBugs<ObjectPage, ControlPlaneError>(async () => {
    const request = parseFields(objectsFields, raw);
    const volume = await admitted(context, principal, request.issues, request.values.volume, options);
    if (volume.isErr()) return err(volume.error);
    const { prefix = "", page_token: after = "", limit } = request.values;
    const query = { prefix, limit: limit as number, ...(after === "" ? {} : { after }) };
    const listed = await context.ports.provider.volumes.objects(volume.value, query, options);
    return listed.map(({ objects, more }) => ({
      objects: objects.map(({ path, size, updated }) => ({ path, size, updated })),
      next_page_token: more ? (objects.at(-1)?.path ?? null) : null,
    }));
  });

export const deleteObject = (
  context: Context,
  principal: Principal,
  raw: Raw,
  options: CallOptions = {},
): ResultAsync<{ detail: string }, ControlPlaneError> =>
  catchBugs<{ detail: string }, ControlPlaneError>(async () => {
    const request = parseFields(objectFields, raw);
    const volume = await admitted(context, principal, request.issues, request.values.volume, options);
    if (volume.isErr()) return err(volume.error);
    const path = request.values.path as ObjectPath;
    const removed = await context.ports.provider.volumes.remove(volume.value, path, options);
    return removed.map(() => ({ detail: `'${path}' was deleted from '${volume.value.name}'.` }));
  });

/** `object` and `path` are two words for one field. */
const oneTarget = ({ object, path }: { object?: ObjectPath | undefined; path?: ObjectPath | undefined }): Issue[] => {
  if (object === undefined && path === undefined)
    return [issue(["object"], "is required: the object's path", "missing")];
  return object !== undefined && path !== undefined && object !== path
    ? [issue(["path"], `says '${path}' but object says '${object}'; keep one`, "value_error")]
    : [];
};

/** The storage's URLs for an object that is too large for one PUT. */
const inParts = async (
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

/**
 * A URL to PUT one object, or several where it is too large for one. The volume has to be there: an upload never makes
 * one.
 */
export const grantUpload = (
  context: Context,
  principal: Principal,
  raw: Raw,
  options: CallOptions = {},
): ResultAsync<UploadGrant, ControlPlaneError> =>
  catchBugs<UploadGrant, ControlPlaneError>(async () => {
    const { values, issues: broken } = parseFields(uploadFields, raw);
    const unread = broken.some(({ path: [field] }) => field === "object" || field === "path");
    const issues = [...broken, ...(unread ? [] : oneTarget(values))];
    const volume = await admitted(context, principal, issues, values.volume, options);
    if (volume.isErr()) return err(volume.error);
    const until = plusMillis(context.ports.clock.now(), grantMinutes.upload * 60_000);
    const path = (values.object ?? values.path) as ObjectPath;
    const { volumes } = context.ports.provider;
    const size = values.size as number;
    if (volumes.uploadsInParts !== undefined && size > volumes.uploadsInParts.above)
      return inParts(volumes.uploadsInParts, volume.value, { path, size, until }, options);
    const granted = await volumes.grantUpload(volume.value, path, until, options);
    return granted.map(({ url, expiresAt }) => ({ url, method: "PUT" as const, expires_at: timestampOf(expiresAt) }));
  });

/** A URL to GET one object that is there. */
export const grantDownload = (
  context: Context,
  principal: Principal,
  raw: Raw,
  options: CallOptions = {},
): ResultAsync<DownloadGrant, ControlPlaneError> =>
  catchBugs<DownloadGrant, ControlPlaneError>(async () => {
    const request = parseFields(objectFields, raw);
    const volume = await admitted(context, principal, request.issues, request.values.volume, options);
    if (volume.isErr()) return err(volume.error);
    const { volumes } = context.ports.provider;
    const path = request.values.path as ObjectPath;
    const there = await volumes.stat(volume.value, path, options);
    if (there.isErr()) return err(there.error);
    const until = plusMillis(context.ports.clock.now(), grantMinutes.download * 60_000);
    const granted = await volumes.grantDownload(volume.value, path, until, options);
    return granted.map(({ url, expiresAt }) => ({ url, expires_at: timestampOf(expiresAt) }));
  });

/** The bytes of a source that a deploy names as `VOLUME/PATH`; 404 where there is no such object. */
export const openSourceObject = async (
  context: Context,
  principal: Principal,
  source: { readonly volume: VolumeName; readonly path: ObjectPath },
  options: CallOptions = {},
): Promise<Result<() => ResultAsync<AsyncIterable<Uint8Array>, ControlPlaneError>, ControlPlaneError>> => {
  const volume = await ownVolume(context, principal, source.volume, options);
  if (volume.isErr()) return err(volume.error);
  const { volumes } = context.ports.provider;
  const there = await volumes.stat(volume.value, source.path, options);
  if (there.isErr()) return err(there.error);
  return ok(() => volumes.read(volume.value, source.path));
};
