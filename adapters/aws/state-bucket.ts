/**
 * The bucket for the platform's own state. S3 is strongly consistent and supports conditional writes:
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
 */
import type { Unavailable } from "../../core/errors.ts";
import { err, ok, type Result } from "../../core/result.ts";
import { type CallState, isCallState, type ProviderCall } from "../shared/calls/provider-call.ts";
import type { ClientSource } from "./clients.ts";

const load = () => import("@aws-sdk/client-s3");

export interface RetryOptions {
  readonly signal?: AbortSignal | undefined;
  /** Retry timeout in milliseconds; defaults to that of reads. */
  readonly timeoutMs?: number;
}

export interface StateObject {
  readonly text: string;
  readonly etag: string;
}

export interface Listed {
  readonly key: string;
  readonly etag: string;
}

/** Precondition of a write: the object does not exist, has this ETag, or none. */
export type PutCondition = "absent" | "any" | { readonly etag: string };

type Called<T> = Promise<Result<T, CallState | Unavailable>>;

export interface StateBucket {
  /** Null if the object does not exist. */
  get(key: string, retry?: RetryOptions): Promise<Result<StateObject | null, Unavailable>>;
  /**
   * Returns the new ETag. Fails with `changed` if the condition does not hold, with `not_found` if the ETag's object
   * does not exist.
   */
  put(key: string, text: string, condition: PutCondition, tags: string, retry?: RetryOptions): Called<string>;
  /** Returns all objects with the key prefix, sorted by key. Makes one call per thousand objects. */
  list(prefix: string, retry?: RetryOptions): Promise<Result<readonly Listed[], Unavailable>>;
}

/** Maximum page size of ListObjectsV2. */
export const PAGE_SIZE = 1000;

const sendOptions = (signal: AbortSignal | undefined) => (signal === undefined ? {} : { abortSignal: signal });

export const stateBucket = (bucket: string, clients: ClientSource, call: ProviderCall): StateBucket => {
  const throwOnState = <T>(result: Result<T, CallState | Unavailable>): Result<T, Unavailable> => {
    if (result.isOk()) return ok(result.value);
    if (isCallState(result.error)) throw result.error.error;
    return err(result.error);
  };

  return {
    get: async (key, retry = {}) => {
      const read = await call<StateObject | null>({ what: "s3.GetObject", ...retry }, async () => {
        const [client, { GetObjectCommand }] = [await clients("s3"), await load()];
        const command = new GetObjectCommand({ Bucket: bucket, Key: key });
        const { Body, ETag = "" } = await client.send(command, sendOptions(retry.signal));
        return { text: (await Body?.transformToString()) ?? "", etag: ETag };
      });
      const isAbsent = read.isErr() && isCallState(read.error) && (read.error.error as Error).name === "NoSuchKey";
      return isAbsent ? ok(null) : throwOnState(read);
    },

    put: (key, text, condition, tags, retry = {}) =>
      call({ what: "s3.PutObject", ...retry }, async () => {
        const [client, { PutObjectCommand }] = [await clients("s3"), await load()];
        const command = new PutObjectCommand({
          Bucket: bucket,
          Key: key,
          Body: text,
          ContentType: "application/json",
          ...(condition === "absent" ? { IfNoneMatch: "*" } : {}),
          ...(typeof condition === "object" ? { IfMatch: condition.etag } : {}),
          ...(tags === "" ? {} : { Tagging: tags }),
        });
        return (await client.send(command, sendOptions(retry.signal))).ETag ?? "";
      }),

    list: async (prefix, retry = {}) => {
      const found: Listed[] = [];
      let token: string | undefined;
      do {
        const page = throwOnState(
          await call({ what: "s3.ListObjectsV2", ...retry }, async () => {
            const [client, { ListObjectsV2Command }] = [await clients("s3"), await load()];
            const input = { Bucket: bucket, Prefix: prefix, MaxKeys: PAGE_SIZE, ContinuationToken: token };
            return client.send(new ListObjectsV2Command(input), sendOptions(retry.signal));
          }),
        );
        if (page.isErr()) return err(page.error);
        for (const { Key, ETag } of page.value.Contents ?? []) found.push({ key: Key ?? "", etag: ETag ?? "" });
        token = page.value.NextContinuationToken;
      } while (token !== undefined);
      return ok(found);
    },
  };
};
