/** The state bucket as the storage of a source spool: https://docs.aws.amazon.com/AmazonS3/latest/API */

import type { ProviderCall } from "../../../cloud/calls/provider-call.ts";
import type { SpoolBucket } from "../../../cloud/deploy/build/bucket-spool.ts";
import { commandSender } from "../../call-policy.ts";
import { type ClientSource, sendCommand } from "../../clients.ts";
import { multipartUpload } from "./multipart.ts";

const TIMEOUT_MS = 60_000;
const REMOVE_TIMEOUT_MS = 10_000;

export const s3Spool = (bucket: string, clients: ClientSource, call: ProviderCall): SpoolBucket => {
  const send = commandSender("s3", "s3", clients, call);
  return {
    bucket,
    upload: (Key, signal) => multipartUpload(send, { Bucket: bucket, Key }, signal),
    read: (Key, from, bytes) =>
      call({ what: "s3.GetObject", timeoutMs: TIMEOUT_MS }, async () => {
        const input = { Bucket: bucket, Key, Range: `bytes=${from}-${from + bytes - 1}` };
        const { Body } = await sendCommand(clients, "s3", "GetObjectCommand", input);
        return (await Body?.transformToByteArray()) ?? new Uint8Array();
      }),
    remove: async (Key) =>
      send("DeleteObjectCommand", { Bucket: bucket, Key }, { timeoutMs: REMOVE_TIMEOUT_MS }).map(() => undefined),
  };
};
