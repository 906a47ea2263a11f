/** Signed URLs for the upload and download of one object. */
import mime from "mime";
import type { ObjectPath } from "../../../core/domain/volumes/object-path.ts";
import type { Instant } from "../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { Grant, StoredVolume } from "../../../core/ports/volume-store.ts";
import type { ResultAsync } from "../../../core/result.ts";
import type { Signer } from "./signing.ts";

const load = () => import("@aws-sdk/client-s3");

/** A download's content type follows from the object's name, whatever type the upload had. */
const contentTypeOf = (path: ObjectPath): string => mime.getType(path) ?? "application/octet-stream";

export const grant = (
  signer: Signer,
  action: "read" | "write",
  { id: Bucket }: StoredVolume,
  Key: ObjectPath,
  until: Instant,
): ResultAsync<Grant, Unavailable> =>
  signer.until(until).map(async ({ expiresAt, sign }) => {
    const { GetObjectCommand, PutObjectCommand } = await load();
    const command =
      action === "read"
        ? new GetObjectCommand({ Bucket, Key, ResponseContentType: contentTypeOf(Key) })
        : new PutObjectCommand({ Bucket, Key });
    return { url: await sign(command), expiresAt };
  });
