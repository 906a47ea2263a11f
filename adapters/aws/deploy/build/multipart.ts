/** Uploads an object in parts: https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html */
import type { S3Client } from "@aws-sdk/client-s3";
import { err, ok } from "../../../../core/result.ts";
import type { Called, PieceUpload } from "../../../shared/archives/bucket-spool.ts";
import { isCallState, type ProviderCall } from "../../../shared/calls/provider-call.ts";

const load = () => import("@aws-sdk/client-s3");

const TIMEOUT_MS = 60_000;
/**
 * Timeout of an abort, in milliseconds. The bucket's lifecycle rule removes unfinished uploads
 * (docs/providers/aws-template.yaml).
 */
const ABORT_TIMEOUT_MS = 5000;

export const multipartUpload = (
  s3: () => Promise<S3Client>,
  object: { readonly Bucket: string; readonly Key: string },
  call: ProviderCall,
  signal: AbortSignal,
): PieceUpload => {
  const describe = (what: string) => ({ what: `s3.${what}`, timeoutMs: TIMEOUT_MS, signal });
  const sendOptions = { abortSignal: signal };
  const parts: { readonly PartNumber: number; readonly ETag: string }[] = [];

  const begin = (): Called<string> =>
    call(describe("CreateMultipartUpload"), async () => {
      const [client, { CreateMultipartUploadCommand }] = [await s3(), await load()];
      const { UploadId = "" } = await client.send(new CreateMultipartUploadCommand(object), sendOptions);
      return UploadId;
    });

  const part = async (UploadId: string, Body: Uint8Array): Called<void> => {
    const PartNumber = parts.length + 1;
    const put = await call(describe("UploadPart"), async () => {
      const [client, { UploadPartCommand }] = [await s3(), await load()];
      const { ETag = "" } = await client.send(
        new UploadPartCommand({ ...object, UploadId, PartNumber, Body }),
        sendOptions,
      );
      return ETag;
    });
    if (put.isErr()) return err(put.error);
    parts.push({ PartNumber, ETag: put.value });
    return ok(undefined);
  };

  const exists = async (): Called<void> =>
    call(describe("HeadObject"), async () => {
      const [client, { HeadObjectCommand }] = [await s3(), await load()];
      await client.send(new HeadObjectCommand(object), sendOptions);
    });

  const complete = async (UploadId: string): Called<void> => {
    const completed = await call<void>(describe("CompleteMultipartUpload"), async () => {
      const [client, { CompleteMultipartUploadCommand }] = [await s3(), await load()];
      const input = { ...object, UploadId, MultipartUpload: { Parts: parts } };
      await client.send(new CompleteMultipartUploadCommand(input), sendOptions);
    });
    // If an earlier response was lost, the upload no longer exists but the object does.
    return completed.isErr() && isCallState(completed.error) && completed.error.code === "not_found"
      ? exists()
      : completed;
  };

  const whole = (Body: Uint8Array): Called<void> =>
    call(describe("PutObject"), async () => {
      const [client, { PutObjectCommand }] = [await s3(), await load()];
      await client.send(new PutObjectCommand({ ...object, Body }), sendOptions);
    });

  return {
    whole,
    begin,
    put: part,
    finish: async (UploadId, bytes) => {
      const last = await part(UploadId, bytes);
      return last.isErr() ? last : complete(UploadId);
    },
    abort: (UploadId) =>
      call<void>({ what: "s3.AbortMultipartUpload", timeoutMs: ABORT_TIMEOUT_MS }, async () => {
        const [client, { AbortMultipartUploadCommand }] = [await s3(), await load()];
        await client.send(new AbortMultipartUploadCommand({ ...object, UploadId }));
      }),
  };
};
