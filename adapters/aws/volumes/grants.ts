/** Signed URLs for the upload and download of one object. */
import { plusMillis } from "../../../core/domain/wire/instant.ts";
import type { Unavailable } from "../../../core/errors.ts";
import type { Clock } from "../../../core/ports/system.ts";
import type { ResultAsync } from "../../../core/result.ts";
import type { SignUrl } from "../../cloud/volumes/driver.ts";
import { bucketPrefix } from "./names.ts";
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

/** A name in the form of volume buckets. The bucket need not exist, because no client receives the sample URL. */
const SAMPLE_BUCKET = `${bucketPrefix("sample")}bucket`;
const SAMPLE_MS = 60_000;

/**
 * Derives the origins from a signed URL. The SDK chooses its host from the region, the partition and a configured
 * endpoint. The host begins with the bucket unless the endpoint is path-style:
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/VirtualHosting.html
 */
export const grantOrigins = (signer: Signer, clock: Clock) => (): ResultAsync<readonly string[], Unavailable> =>
  signer.until(plusMillis(clock.now(), SAMPLE_MS)).map(async ({ sign }) => {
    const { GetObjectCommand } = await load();
    const url = await sign(new GetObjectCommand({ Bucket: SAMPLE_BUCKET, Key: "sample" }));
    return [new URL(url).origin.replace(`//${SAMPLE_BUCKET}.`, "//*.")];
  });
