/** The state bucket as the storage of a source spool: https://docs.aws.amazon.com/AmazonS3/latest/API */
import type { SpoolBucket } from "../../../shared/archives/bucket-spool.ts";
import type { ProviderCall } from "../../../shared/calls/provider-call.ts";
import type { ClientSource } from "../../clients.ts";
import { multipartUpload } from "./multipart.ts";

const load = () => import("@aws-sdk/client-s3");
const TIMEOUT_MS = 60_000;
const REMOVE_TIMEOUT_MS = 10_000;

export const s3Spool = (bucket: string, clients: ClientSource, call: ProviderCall): SpoolBucket => {
  const s3 = () => clients("s3");
  return {
    bucket,
    upload: (Key, signal) => multipartUpload(s3, { Bucket: bucket, Key }, call, signal),
    read: (Key, from, bytes) =>
      call({ what: "s3.GetObject", timeoutMs: TIMEOUT_MS }, async () => {
        const [client, { GetObjectCommand }] = [await s3(), await load()];
        const Range = `bytes=${from}-${from + bytes - 1}`;
        const { Body } = await client.send(new GetObjectCommand({ Bucket: bucket, Key, Range }));
        return (await Body?.transformToByteArray()) ?? new Uint8Array();
      }),
    remove: (Key) =>
      call({ what: "s3.DeleteObject", timeoutMs: REMOVE_TIMEOUT_MS }, async () => {
        const [client, { DeleteObjectCommand }] = [await s3(), await load()];
        await client.send(new DeleteObjectCommand({ Bucket: bucket, Key }));
      }),
  };
};
