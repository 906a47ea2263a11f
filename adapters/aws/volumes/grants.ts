/** Signed URLs for the upload and download of one object. */
import type { SignUrl } from "../../cloud/volumes/driver.ts";
import type { Signer } from "./signing.ts";

const load = () => import("@aws-sdk/client-s3");

export const signUrl =
  (signer: Signer): SignUrl =>
  ({ id: Bucket }, Key, until, contentType) =>
    signer.until(until).map(async ({ expiresAt, sign }) => {
      const { GetObjectCommand, PutObjectCommand } = await load();
      const command =
        contentType === undefined
          ? new PutObjectCommand({ Bucket, Key })
          : new GetObjectCommand({ Bucket, Key, ResponseContentType: contentType });
      return { url: await sign(command), expiresAt };
    });
