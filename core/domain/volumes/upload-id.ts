/**
 * The ids of uploads in parts. An id contains the data to resume its upload, so the platform stores nothing about
 * uploads. An id needs no signature: to resume an upload, the account must own the volume, and the storage must have
 * the upload.
 */
import { z } from "zod";
import { fromBase64, toBase64 } from "../wire/base64.ts";
import { type Instant, instantOfMillis, millisOf } from "../wire/instant.ts";
import { parseVolumeName, type VolumeName } from "../wire/names.ts";
import { type ObjectPath, parseObjectPath } from "./object-path.ts";

/** An upload in parts. */
export interface ResumableUpload {
  readonly volume: VolumeName;
  /** The id of the volume, because a later volume may have the same name. */
  readonly bucket: string;
  readonly path: ObjectPath;
  /** The size of the object in bytes. */
  readonly size: number;
  readonly startedAt: Instant;
  /** The storage's own id of the upload. */
  readonly id: string;
}

const partsSchema = z.tuple([
  z.string(),
  z.string().min(1),
  z.string(),
  z.int().min(1),
  z.int().min(0).max(8.64e15),
  z.string().min(1),
]);

/** Returns an id without characters that a URL must escape. */
export const formatUploadId = ({ volume, bucket, path, size, startedAt, id }: ResumableUpload): string =>
  toBase64(JSON.stringify([volume, bucket, path, size, millisOf(startedAt), id]))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");

/** Returns undefined if the text is not an id of an upload. */
export const parseUploadId = (text: string): ResumableUpload | undefined => {
  try {
    const json = fromBase64(text.replaceAll("-", "+").replaceAll("_", "/"));
    const [name, bucket, object, size, started, id] = partsSchema.parse(JSON.parse(json));
    const [volume, path] = [parseVolumeName(name), parseObjectPath(object)];
    if (volume === undefined || path === undefined) return undefined;
    return { volume, bucket, path, size, startedAt: instantOfMillis(started), id };
  } catch {
    return undefined;
  }
};
