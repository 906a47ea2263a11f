/**
 * Copies the sources of builds to the state bucket: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html
 */
import { Readable } from "node:stream";
import type { Source } from "../../../../core/ports/source-spool.ts";
import { err, errAsync, ok, ResultAsync } from "../../../../core/result.ts";
import { isCallState, type ProviderCall } from "../../../cloud/calls/provider-call.ts";
import { spooledIn } from "../../../cloud/deploy/build/bucket-spool.ts";
import { type Called, commandSender } from "../../call-policy.ts";
import { type ClientSource, sendCommand } from "../../clients.ts";

const TIMEOUT_MS = 60_000;

/** Returns a function that stores a source in the bucket, unless the object already exists. */
export const stageSource = (bucket: string, clients: ClientSource, call: ProviderCall) => {
  const send = commandSender("s3", "s3", clients, call);
  // Creates the object only if it does not exist. A concurrent upload of the same source has the same bytes.
  const onlyNew = { IfNoneMatch: "*" } as const;

  const upload = (Key: string, source: Source, signal: AbortSignal): Called<unknown> =>
    new ResultAsync(
      call({ what: "s3.PutObject", timeoutMs: TIMEOUT_MS, signal }, async () => {
        const Body = Readable.from(source.open(), { objectMode: false });
        const input = { Bucket: bucket, Key, Body, ContentLength: source.bytes, ...onlyNew };
        try {
          await sendCommand(clients, "s3", "PutObjectCommand", input, signal);
        } finally {
          // If the call is aborted, the SDK does not close the stream, so the file would stay open.
          Body.destroy();
        }
      }),
    );

  return (Key: string, source: Source, signal: AbortSignal): Called<void> => {
    const retry = { timeoutMs: TIMEOUT_MS, signal };
    const spooled = spooledIn(bucket, source);
    // Copies within S3: https://docs.aws.amazon.com/AmazonS3/latest/API/API_CopyObject.html
    const copy = (from: string): Called<unknown> =>
      send("CopyObjectCommand", { Bucket: bucket, Key, CopySource: `${bucket}/${from}`, ...onlyNew }, retry);
    const create = () =>
      (spooled === undefined ? upload(Key, source, signal) : copy(spooled)).orElse((error) =>
        isCallState(error) && error.code === "changed" ? ok(undefined) : err(error),
      );
    return send("HeadObjectCommand", { Bucket: bucket, Key }, retry)
      .orElse((error) => (isCallState(error) && error.code === "not_found" ? create() : errAsync(error)))
      .map(() => undefined);
  };
};
