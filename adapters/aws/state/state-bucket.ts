/**
 * The bucket for the platform's own state. S3 is strongly consistent and supports conditional writes:
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
 */
import type { Unavailable } from "../../../core/errors.ts";
import { err, ok, ResultAsync, safeTry } from "../../../core/result.ts";
import { isCallState, type ProviderCall } from "../../cloud/calls/provider-call.ts";
import { type Called, commandSender, nameOf, type RetryOptions, throwState } from "../call-policy.ts";
import { type ClientSource, sendCommand } from "../clients.ts";

export interface StateObject {
  readonly text: string;
  readonly etag: string;
}

export interface Listed {
  readonly key: string;
  readonly etag: string;
}

/** The precondition of a write: the object does not exist (`absent`), or has this ETag. `any` means no precondition. */
export type PutCondition = "absent" | "any" | { readonly etag: string };

export interface StateBucket {
  /** Returns null if the object does not exist. */
  get(key: string, retry?: RetryOptions): ResultAsync<StateObject | null, Unavailable>;
  /**
   * Returns the new ETag. Fails with `changed` if the condition does not hold, and with `not_found` if the condition
   * names an ETag but the object does not exist.
   */
  put(key: string, text: string, condition: PutCondition, tags: string, retry?: RetryOptions): Called<string>;
  /** Deletes an object. Succeeds if it does not exist. */
  remove(key: string, retry?: RetryOptions): ResultAsync<void, Unavailable>;
  /** Returns all objects with the key prefix, sorted by key. Makes one call per thousand objects. */
  list(prefix: string, retry?: RetryOptions): ResultAsync<readonly Listed[], Unavailable>;
}

/** Maximum page size of ListObjectsV2. */
export const PAGE_SIZE = 1000;

/** Reads an object as text. Throws the SDK's errors. */
export const readText = async (
  clients: ClientSource,
  Bucket: string,
  Key: string,
  signal: AbortSignal | undefined,
): Promise<StateObject> => {
  const { Body, ETag: etag = "" } = await sendCommand(clients, "s3", "GetObjectCommand", { Bucket, Key }, signal);
  return { text: (await Body?.transformToString()) ?? "", etag };
};

export const stateBucket = (bucket: string, clients: ClientSource, call: ProviderCall): StateBucket => {
  const send = commandSender("s3", "s3", clients, call);

  return {
    get: (key, retry = {}) => {
      const read = call({ what: "s3.GetObject", ...retry }, () => readText(clients, bucket, key, retry.signal));
      return new ResultAsync(read).orElse((error) =>
        isCallState(error) && nameOf(error.error) === "NoSuchKey" ? ok(null) : err(throwState(error)),
      );
    },

    put: (key, text, condition, tags, retry) => {
      const input = {
        Bucket: bucket,
        Key: key,
        Body: text,
        ContentType: "application/json",
        ...(condition === "absent" ? { IfNoneMatch: "*" } : {}),
        ...(typeof condition === "object" ? { IfMatch: condition.etag } : {}),
        ...(tags === "" ? {} : { Tagging: tags }),
      };
      return send("PutObjectCommand", input, retry).map(({ ETag = "" }) => ETag);
    },

    remove: (Key, retry) =>
      send("DeleteObjectCommand", { Bucket: bucket, Key }, retry)
        .map(() => undefined)
        .mapErr(throwState),

    list: (prefix, retry) =>
      safeTry(async function* () {
        const found: Listed[] = [];
        let token: string | undefined;
        do {
          const input = { Bucket: bucket, Prefix: prefix, MaxKeys: PAGE_SIZE, ContinuationToken: token };
          const page = yield* await send("ListObjectsV2Command", input, retry).mapErr(throwState);
          for (const { Key, ETag } of page.Contents ?? []) found.push({ key: Key ?? "", etag: ETag ?? "" });
          token = page.NextContinuationToken;
        } while (token !== undefined);
        return ok(found);
      }),
  };
};
