/** Uploads an object in parts: https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html */
import type { S3Client } from "@aws-sdk/client-s3";
import { err, ok } from "../../../../core/result.ts";
import type { Called, PieceUpload } from "../../../shared/archives/bucket-spool.ts";
import { isCallState, type ProviderCall } from "../../../shared/calls/provider-call.ts";

const load = () => import("@aws-sdk/client-s3");

const PATIENCE_MS = 60_000;
/** Keeps an abort short. A lifecycle rule of the bucket removes what an abort leaves (docs/providers/aws-template.yaml). */
const ABORT_MS = 5000;

export const multipartUpload = (
  s3: () => Promise<S3Client>,
  place: { readonly Bucket: string; readonly Key: string },
  call: ProviderCall,
  signal: AbortSignal,
): PieceUpload => {
  const needs = (what: string) => ({ what: `s3.${what}`, timeoutMs: PATIENCE_MS, signal });
  const sending = { abortSignal: signal };
  const parts: { readonly PartNumber: number; readonly ETag: string }[] = [];

  const begin = (): Called<string> =>
    call(needs("CreateMultipartUpload"), async () => {
      const [client, { CreateMultipartUploadCommand }] = [await s3(), await load()];
      const { UploadId = "" } = await client.send(new CreateMultipartUploadCommand(place), sending);
      return UploadId;
    });

  const part = async (UploadId: string, Body: Uint8Array): Called<void> => {
    const PartNumber = parts.length + 1;
    const put = await call(needs("UploadPart"), async () => {
      const [client, { UploadPartCommand }] = [await s3(), await load()];
      const { ETag = "" } = await client.send(new UploadPartCommand({ ...place, UploadId, PartNumber, Body }), sending);
      return ETag;
    });
    if (put.isErr()) return err(put.error);
    parts.push({ PartNumber, ETag: put.value });
    return ok(undefined);
  };

  const isThere = async (): Called<void> =>
    call(needs("HeadObject"), async () => {
      const [client, { HeadObjectCommand }] = [await s3(), await load()];
      await client.send(new HeadObjectCommand(place), sending);
    });

  const complete = async (UploadId: string): Called<void> => {
    const made = await call<void>(needs("CompleteMultipartUpload"), async () => {
      const [client, { CompleteMultipartUploadCommand }] = [await s3(), await load()];
      const input = { ...place, UploadId, MultipartUpload: { Parts: parts } };
      await client.send(new CompleteMultipartUploadCommand(input), sending);
    });
    // If an earlier response was lost, the upload no longer exists but the object does.
    return made.isErr() && isCallState(made.error) && made.error.code === "not_found" ? isThere() : made;
  };

  const whole = (Body: Uint8Array): Called<void> =>
    call(needs("PutObject"), async () => {
      const [client, { PutObjectCommand }] = [await s3(), await load()];
      await client.send(new PutObjectCommand({ ...place, Body }), sending);
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
      call<void>({ what: "s3.AbortMultipartUpload", timeoutMs: ABORT_MS }, async () => {
        const [client, { AbortMultipartUploadCommand }] = [await s3(), await load()];
        await client.send(new AbortMultipartUploadCommand({ ...place, UploadId }));
      }),
  };
};
