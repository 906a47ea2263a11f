/** Signed URLs to upload and download one object. */
import mime from "mime";
import type { ObjectPath } from "../../../core/domain/volumes/object-path.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { Grant, StoredVolume } from "../../../core/ports/volume-store.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import type { Signer } from "./signing.ts";

const load = () => import("@aws-sdk/client-s3");

/** The content type of a download comes from the object's name, not from the upload. */
const kindOf = (path: ObjectPath): string => mime.getType(path) ?? "application/octet-stream";

export const grant = async (
  signer: Signer,
  action: "read" | "write",
  { id: Bucket }: StoredVolume,
  Key: ObjectPath,
  until: Instant,
): Promise<Result<Grant, Unavailable>> => {
  const span = await signer.until(until);
  if (span.isErr()) return err(span.error);
  const { expiresAt, sign } = span.value;
  const { GetObjectCommand, PutObjectCommand } = await load();
  const url =
    action === "read"
      ? await sign(new GetObjectCommand({ Bucket, Key, ResponseContentType: kindOf(Key) }))
      : await sign(new PutObjectCommand({ Bucket, Key }));
  return ok({ url, expiresAt });
};
