/**
 * Copies the sources of builds to the state bucket: https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutObject.html
 */
import { Readable } from "node:stream";
import type { Unavailable } from "../../../../core/errors.ts";
import type { Source } from "../../../../core/ports/source-spool.ts";
import { err, ok, type Result } from "../../../../core/result.ts";
import { spooledIn } from "../../../shared/archives/bucket-spool.ts";
import { type CallState, isCallState, type ProviderCall } from "../../../shared/calls/provider-call.ts";
import type { ClientSource } from "../../clients.ts";

const load = () => import("@aws-sdk/client-s3");
const TIMEOUT_MS = 60_000;

interface Options {
  readonly abortSignal: AbortSignal;
}

/** Uploads a source, unless the object exists. */
export const stageSource = (bucket: string, clients: ClientSource, call: ProviderCall) => {
  // Creates the object only if it does not exist. A concurrent upload of the same source has the same bytes.
  const onlyNew = { IfNoneMatch: "*" } as const;

  const send = (key: string, source: Source, options: Options) =>
    call<void>({ what: "s3.PutObject", timeoutMs: TIMEOUT_MS, signal: options.abortSignal }, async () => {
      const [client, { PutObjectCommand }] = [await clients("s3"), await load()];
      const Body = Readable.from(source.open(), { objectMode: false });
      const input = { Bucket: bucket, Key: key, Body, ContentLength: source.bytes, ...onlyNew };
      try {
        await client.send(new PutObjectCommand(input), options);
      } finally {
        // The SDK does not close the stream, and therefore the file, if the call is aborted.
        Body.destroy();
      }
    });

  /** Copies within S3: https://docs.aws.amazon.com/AmazonS3/latest/API/API_CopyObject.html */
  const copy = (from: string, key: string, options: Options) =>
    call<void>({ what: "s3.CopyObject", timeoutMs: TIMEOUT_MS, signal: options.abortSignal }, async () => {
      const [client, { CopyObjectCommand }] = [await clients("s3"), await load()];
      const CopySource = `${bucket}/${from}`;
      await client.send(new CopyObjectCommand({ Bucket: bucket, Key: key, CopySource, ...onlyNew }), options);
    });

  return async (key: string, source: Source, signal: AbortSignal): Promise<Result<void, CallState | Unavailable>> => {
    const options = { abortSignal: signal };
    const existing = await call({ what: "s3.HeadObject", timeoutMs: TIMEOUT_MS, signal }, async () => {
      const [client, { HeadObjectCommand }] = [await clients("s3"), await load()];
      await client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }), options);
    });
    if (existing.isOk()) return ok(undefined);
    if (!isCallState(existing.error) || existing.error.code !== "not_found") return err(existing.error);
    const spooled = spooledIn(bucket, source);
    const put = spooled === undefined ? await send(key, source, options) : await copy(spooled, key, options);
    return put.isErr() && isCallState(put.error) && put.error.code === "changed" ? ok(undefined) : put;
  };
};
