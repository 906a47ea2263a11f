/**
 * The S3 API calls that volumes need. Each returns the states that it expects as values.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html
 */
import type {
  GetObjectCommandOutput,
  HeadObjectCommandOutput,
  LifecycleRule,
  ListObjectsV2CommandInput,
  ListObjectsV2CommandOutput,
  ObjectIdentifier,
} from "@aws-sdk/client-s3";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result, ResultAsync } from "../../../core/result.ts";
import { type CallState, isCallState, type ProviderCall } from "../../shared/calls/provider-call.ts";
import { type CommandSender, commandSender, nameOf } from "../call-policy.ts";
import { type ClientSource, sendCommand } from "../clients.ts";
import { readText, type StateObject } from "../state-bucket.ts";

export type ApiResult<T> = ResultAsync<T, Unavailable>;

type State = CallState["code"];

export interface S3ApiDeps {
  readonly region: string;
  readonly clients: ClientSource;
  readonly call: ProviderCall;
}

/** The object must not exist, or must have this ETag. */
export type PutCondition = { readonly IfNoneMatch: "*" } | { readonly IfMatch: string };

const unexpected = (error: unknown): Unavailable => unavailable("AWS returned an unexpected response.", 5, error);

export const stateBucketMissing = (bucket: string, error?: unknown): Unavailable =>
  unavailable(`The platform's bucket '${bucket}' does not exist. Check the stack that created it.`, 60, error);

const nothing = () => undefined;

/** For `orElse`: returns the expected states as values. Any other state is unexpected and fails with `unavailable`. */
const expect =
  <S extends State>(...states: readonly S[]) =>
  (error: CallState | Unavailable): Result<S, Unavailable> => {
    if (!isCallState(error)) return err(error);
    const state = states.find((one) => one === error.code);
    return state === undefined ? err(unexpected(error.error)) : ok(state);
  };

/** Like `expect`, for the platform's own bucket. Fails with `unavailable` if the bucket does not exist. */
const expectInStateBucket =
  <S extends State>(bucket: string, ...states: readonly S[]) =>
  (error: CallState | Unavailable): Result<S, Unavailable> =>
    isCallState(error) && nameOf(error.error) === "NoSuchBucket"
      ? err(stateBucketMissing(bucket, error.error))
      : expect(...states)(error);

export class S3Api {
  readonly #deps: S3ApiDeps;
  readonly #send: CommandSender<"s3">;

  constructor(deps: S3ApiDeps) {
    this.#deps = deps;
    this.#send = commandSender("s3", "s3", deps.clients, deps.call);
  }

  /** Reads one of the platform's own objects as text. */
  text(bucket: string, key: string, { signal }: CallOptions): ApiResult<StateObject | "not_found"> {
    const { clients, call } = this.#deps;
    const read = call({ what: "s3.GetObject", signal }, () => readText(clients, bucket, key, signal));
    return new ResultAsync(read).orElse(expectInStateBucket(bucket, "not_found"));
  }

  /** Returns `changed` if the condition does not hold. @param condition overwrites the object if undefined */
  putText(
    bucket: string,
    key: string,
    text: string,
    condition: PutCondition | undefined,
    options: CallOptions,
  ): ApiResult<"changed" | undefined> {
    // The SDK sets no length for an empty body.
    const body = { Body: text, ContentLength: Buffer.byteLength(text), ContentType: "application/json" };
    return (
      this.#send("PutObjectCommand", { Bucket: bucket, Key: key, ...body, ...condition }, options)
        .map(nothing)
        .orElse(expectInStateBucket(bucket, "not_found", "changed"))
        // With IfMatch, `not_found` means that the object has been deleted since the read.
        .map((state) => (state === undefined ? undefined : "changed"))
    );
  }

  deleteKey(bucket: string, key: string, options: CallOptions): ApiResult<void> {
    return this.#send("DeleteObjectCommand", { Bucket: bucket, Key: key }, options)
      .orElse(expectInStateBucket(bucket, "not_found"))
      .map(nothing);
  }

  /** Lists one page of the platform's own objects. */
  keys(
    bucket: string,
    query: Omit<ListObjectsV2CommandInput, "Bucket">,
    options: CallOptions,
  ): ApiResult<ListObjectsV2CommandOutput> {
    return this.#list({ Bucket: bucket, ...query }, options)
      .orElse(expectInStateBucket(bucket, "not_found"))
      .andThen((page) => (page === "not_found" ? err(stateBucketMissing(bucket)) : ok(page)));
  }

  headBucket(bucket: string, options: CallOptions): ApiResult<boolean> {
    return this.#send("HeadBucketCommand", { Bucket: bucket }, options)
      .orElse(expect("not_found"))
      .map((seen) => seen !== "not_found");
  }

  /**
   * `exists`: the name is taken, by this AWS account or another. `invalid`: the bucket quota is reached, or the name is
   * not valid.
   */
  createBucket(
    id: string,
    tags: Readonly<Record<string, string>>,
    options: CallOptions,
  ): ApiResult<"exists" | "own" | "invalid" | "created"> {
    const { region } = this.#deps;
    const location = region === "us-east-1" ? {} : { LocationConstraint: region as "eu-west-1" };
    const Tags = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
    const CreateBucketConfiguration = { ...location, Tags };
    const input = { Bucket: id, ObjectOwnership: "BucketOwnerEnforced", CreateBucketConfiguration } as const;
    return this.#send("CreateBucketCommand", input, options)
      .map(() => "created" as const)
      .orElse((error) =>
        isCallState(error) && nameOf(error.error) === "BucketAlreadyOwnedByYou"
          ? ok("own" as const)
          : expect("exists", "invalid")(error),
      );
  }

  blockPublicAccess(id: string, options: CallOptions): ApiResult<"not_found" | undefined> {
    const PublicAccessBlockConfiguration = {
      BlockPublicAcls: true,
      BlockPublicPolicy: true,
      IgnorePublicAcls: true,
      RestrictPublicBuckets: true,
    };
    return this.#send("PutPublicAccessBlockCommand", { Bucket: id, PublicAccessBlockConfiguration }, options)
      .map(nothing)
      .orElse(expect("not_found"));
  }

  enableVersioning(id: string, options: CallOptions): ApiResult<"not_found" | undefined> {
    const input = { Bucket: id, VersioningConfiguration: { Status: "Enabled" } } as const;
    return this.#send("PutBucketVersioningCommand", input, options).map(nothing).orElse(expect("not_found"));
  }

  putLifecycle(id: string, Rules: LifecycleRule[], options: CallOptions): ApiResult<"not_found" | undefined> {
    const input = { Bucket: id, LifecycleConfiguration: { Rules } };
    return this.#send("PutBucketLifecycleConfigurationCommand", input, options)
      .map(nothing)
      .orElse(expect("not_found"));
  }

  putPolicy(id: string, policy: object, options: CallOptions): ApiResult<"not_found" | undefined> {
    return this.#send("PutBucketPolicyCommand", { Bucket: id, Policy: JSON.stringify(policy) }, options)
      .map(nothing)
      .orElse(expect("not_found"));
  }

  deletePolicy(id: string, options: CallOptions): ApiResult<"not_found" | undefined> {
    return this.#send("DeleteBucketPolicyCommand", { Bucket: id }, options).map(nothing).orElse(expect("not_found"));
  }

  /** `changed`: the bucket is not empty. */
  deleteBucket(id: string, options: CallOptions): ApiResult<"not_found" | "changed" | undefined> {
    return this.#send("DeleteBucketCommand", { Bucket: id }, options)
      .map(nothing)
      .orElse(expect("not_found", "changed"));
  }

  objects(input: ListObjectsV2CommandInput, options: CallOptions): ApiResult<ListObjectsV2CommandOutput | "not_found"> {
    return this.#list(input, options).orElse(expect("not_found"));
  }

  head(bucket: string, key: string, options: CallOptions): ApiResult<HeadObjectCommandOutput | "not_found"> {
    return this.#send("HeadObjectCommand", { Bucket: bucket, Key: key }, options).orElse(expect("not_found"));
  }

  get(bucket: string, key: string, options: CallOptions): ApiResult<GetObjectCommandOutput | "not_found"> {
    return this.#send("GetObjectCommand", { Bucket: bucket, Key: key }, options).orElse(expect("not_found"));
  }

  /** Deletes an object. A retry that no longer finds it counts as success: the first response was lost. */
  deleteObject(bucket: string, key: string, { signal }: CallOptions): ApiResult<"not_found" | undefined> {
    const { clients, call } = this.#deps;
    // Without this condition, S3 reports success even if the object does not exist.
    const input = { Bucket: bucket, Key: key, IfMatch: "*" };
    let tries = 0;
    const deleted = call({ what: "s3.DeleteObject", signal }, () => {
      tries += 1;
      return sendCommand(clients, "s3", "DeleteObjectCommand", input, signal);
    });
    return new ResultAsync(deleted)
      .map(nothing)
      .orElse(expect("not_found", "changed"))
      .map((state) => (state !== undefined && tries === 1 ? "not_found" : undefined));
  }

  /** Returns up to 1,000 versions and delete markers. */
  versions(bucket: string, options: CallOptions): ApiResult<readonly ObjectIdentifier[] | "not_found"> {
    return this.#send("ListObjectVersionsCommand", { Bucket: bucket, EncodingType: "url" }, options)
      .map(({ Versions = [], DeleteMarkers = [] }) =>
        [...Versions, ...DeleteMarkers].map(({ Key = "", VersionId }) => ({ Key: decodedKey(Key), VersionId })),
      )
      .orElse(expect("not_found"));
  }

  /** Deletes up to 1,000 versions. The next listing returns those that could not be deleted. */
  deleteVersions(bucket: string, versions: readonly ObjectIdentifier[], options: CallOptions): ApiResult<undefined> {
    const input = { Bucket: bucket, Delete: { Objects: [...versions], Quiet: true } };
    return this.#send("DeleteObjectsCommand", input, options)
      .map(({ Errors = [] }) => Errors[0])
      .orElse((error) => expect("not_found")(error).map(nothing))
      .andThen((problem) => (problem === undefined ? ok(undefined) : err(unexpected(problem))));
  }

  /** Starts a multipart upload and returns its id. */
  createUpload(bucket: string, key: string, options: CallOptions): ApiResult<string | "not_found"> {
    return this.#send("CreateMultipartUploadCommand", { Bucket: bucket, Key: key }, options)
      .map(({ UploadId = "" }) => UploadId)
      .orElse(expect("not_found"));
  }

  #list(input: ListObjectsV2CommandInput, options: CallOptions) {
    return this.#send("ListObjectsV2Command", { ...input, EncodingType: "url" }, options);
  }
}

/**
 * Decodes keys of listings with `EncodingType=url`, because a key that XML cannot represent breaks the whole response.
 */
export const decodedKey = (key: string): string => decodeURIComponent(key.replaceAll("+", " "));
