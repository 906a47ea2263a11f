/** Signed URLs for the upload and download of one object. */
import mime from "mime";
import type { ObjectPath } from "../../../core/domain/volumes/object-path.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { Grant, StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import type { Signer } from "./signing.ts";

const load = () => import("@aws-sdk/client-s3");

/** A download's content type follows from the object's name, whatever type the upload had. */
const contentTypeOf = (path: ObjectPath): string => mime.getType(path) ?? "application/octet-stream";

export const grant = async (
  signer: Signer,
  action: "read" | "write",
  { id: Bucket }: StoredVolume,
  Key: ObjectPath,
  until: Instant,
): Promise<Result<Grant, Unavailable>> => {
  const period = await signer.until(until);
  if (period.isErr()) return err(period.error);
  const { expiresAt, sign } = period.value;
  const { GetObjectCommand, PutObjectCommand } = await load();
  const url =
    action === "read"
      ? await sign(new GetObjectCommand({ Bucket, Key, ResponseContentType: contentTypeOf(Key) }))
      : await sign(new PutObjectCommand({ Bucket, Key }));
  return ok({ url, expiresAt });
};
