/** Checks before an object call: the body's integrity and the request's conditions. */
import { crc32 } from "node:zlib";
import type { AwsRequest } from "../server.ts";
import { failure } from "./failure.ts";
import { type FakeBucket, md5, type S3World } from "./world.ts";

export interface ObjectCall {
  readonly world: S3World;
  readonly request: AwsRequest;
  readonly bucket: FakeBucket;
  readonly key: string;
}

/** A header; a signed URL may have it as a parameter instead. */
const given = ({ headers, query }: AwsRequest, name: string): string | undefined =>
  headers[name] ?? query.get(name) ?? undefined;

/** userguide/checking-object-integrity.html: the body must match its checksums. */
export const checkIntegrity = (request: AwsRequest): void => {
  const checksum = given(request, "x-amz-checksum-crc32");
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(request.body));
  if (checksum !== undefined && checksum !== sum.toString("base64"))
    throw failure(400, "BadDigest", "The CRC32 you specified did not match the calculated checksum.");
  const digest = request.headers["content-md5"];
  if (digest !== undefined && digest !== md5(request.body).toString("base64"))
    throw failure(400, "BadDigest", "The Content-MD5 you specified did not match what we received.");
};

/** userguide/conditional-writes.html */
export const checkWriteConditions = ({ request, bucket, key }: ObjectCall): void => {
  const { "if-match": only, "if-none-match": none } = request.headers;
  const present = bucket.objects.get(key);
  if (none !== undefined && none !== "*") throw failure(501, "NotImplemented", "If-None-Match expects '*'");
  if (none === "*" && present !== undefined)
    throw failure(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold");
  if (only === undefined) return;
  if (present === undefined) throw failure(404, "NoSuchKey", "The specified key does not exist.");
  if (only !== "*" && only !== present.etag)
    throw failure(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold");
};
