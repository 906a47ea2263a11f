/** Uploads an object in parts: https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html */
import { errAsync } from "../../../../core/result.ts";
import { isCallState } from "../../../cloud/calls/provider-call.ts";
import type { PieceUpload } from "../../../cloud/deploy/build/bucket-spool.ts";
import type { Called, CommandSender } from "../../call-policy.ts";

const TIMEOUT_MS = 60_000;
/**
 * Timeout of an abort, in milliseconds. The bucket's lifecycle rule removes unfinished uploads
 * (docs/providers/aws-template.yaml).
 */
const ABORT_TIMEOUT_MS = 5000;

export const multipartUpload = (
  send: CommandSender<"s3">,
  object: { readonly Bucket: string; readonly Key: string },
  signal: AbortSignal,
): PieceUpload => {
  const retry = { timeoutMs: TIMEOUT_MS, signal };
  const parts: { readonly PartNumber: number; readonly ETag: string }[] = [];

  const put = (UploadId: string, Body: Uint8Array): Called<void> => {
    const PartNumber = parts.length + 1;
    return send("UploadPartCommand", { ...object, UploadId, PartNumber, Body }, retry)
      .andTee(({ ETag = "" }) => parts.push({ PartNumber, ETag }))
      .map(() => undefined);
  };

  const complete = (UploadId: string): Called<unknown> =>
    send("CompleteMultipartUploadCommand", { ...object, UploadId, MultipartUpload: { Parts: parts } }, retry).orElse(
      // If an earlier response was lost, the upload no longer exists but the object does.
      (error) =>
        isCallState(error) && error.code === "not_found" ? send("HeadObjectCommand", object, retry) : errAsync(error),
    );

  return {
    whole: async (Body) => send("PutObjectCommand", { ...object, Body }, retry).map(() => undefined),
    begin: async () => send("CreateMultipartUploadCommand", object, retry).map(({ UploadId = "" }) => UploadId),
    put: async (UploadId, piece) => put(UploadId, piece),
    finish: async (UploadId, last) =>
      put(UploadId, last)
        .andThen(() => complete(UploadId))
        .map(() => undefined),
    abort: async (UploadId) =>
      send("AbortMultipartUploadCommand", { ...object, UploadId }, { timeoutMs: ABORT_TIMEOUT_MS }).map(
        () => undefined,
      ),
  };
};
