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
  S3Client,
} from "@aws-sdk/client-s3";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { type CallState, isCallState, type ProviderCall } from "../../shared/calls/provider-call.ts";
import { nameOf } from "../call-policy.ts";

export type ApiResult<T> = Promise<Result<T, Unavailable>>;

type State = CallState["code"];

const load = () => import("@aws-sdk/client-s3");
type Sdk = Awaited<ReturnType<typeof load>>;

type Act<T> = (client: S3Client, sdk: Sdk, options: { readonly abortSignal?: AbortSignal }) => Promise<T>;

export interface S3ApiDeps {
  readonly region: string;
  readonly client: () => Promise<S3Client>;
  readonly call: ProviderCall;
}

/** The object must not exist, or must have this ETag. */
export type PutCondition = { readonly IfNoneMatch: "*" } | { readonly IfMatch: string };

const unexpected = (error: unknown): Unavailable => unavailable("AWS returned an unexpected response.", 5, error);

export const stateBucketMissing = (bucket: string, error?: unknown): Unavailable =>
  unavailable(`The platform's bucket '${bucket}' does not exist. Check the stack that created it.`, 60, error);

/** Returns the expected states as values. Any other state is unexpected and fails with `unavailable`. */
const states =
  <S extends State>(...expected: readonly S[]) =>
  <T>(result: Result<T, CallState | Unavailable>): Result<T | S, Unavailable> => {
    if (result.isOk()) return ok(result.value);
    if (!isCallState(result.error)) return err(result.error);
    const { code, error } = result.error;
    return expected.includes(code as S) ? ok(code as S) : err(unexpected(error));
  };

/** Like `states`, for calls without a result. */
const withoutResult =
  <S extends State>(...expected: readonly S[]) =>
  (result: Result<unknown, CallState | Unavailable>): Result<S | undefined, Unavailable> =>
    states(...expected)(result.map(() => undefined));

export class S3Api {
  readonly #deps: S3ApiDeps;

  constructor(deps: S3ApiDeps) {
    this.#deps = deps;
  }

  client(): Promise<S3Client> {
    return this.#deps.client();
  }

  /** Reads one of the platform's own objects as text. */
  async text(
    bucket: string,
    key: string,
    options: CallOptions,
  ): ApiResult<{ readonly text: string; readonly etag: string } | "not_found"> {
    const read = await this.#send("GetObject", options, async (client, { GetObjectCommand }, send) => {
      const { Body, ETag = "" } = await client.send(new GetObjectCommand({ Bucket: bucket, Key: key }), send);
      return { text: (await Body?.transformToString()) ?? "", etag: ETag };
    });
    return this.#ofPlatform<{ text: string; etag: string }>(bucket, read);
  }

  /** Returns `changed` if the condition does not hold. @param condition overwrites the object if undefined */
  async putText(
    bucket: string,
    key: string,
    text: string,
    condition: PutCondition | undefined,
    options: CallOptions,
  ): ApiResult<"changed" | undefined> {
    const put = await this.#send("PutObject", options, (client, { PutObjectCommand }, send) => {
      // The SDK sets no length for an empty body.
      const body = { Body: text, ContentLength: Buffer.byteLength(text), ContentType: "application/json" };
      const input = { Bucket: bucket, Key: key, ...body, ...condition };
      return client.send(new PutObjectCommand(input), send);
    });
    const known = this.#ofPlatform(bucket, put, "changed");
    // With IfMatch, `not_found` means that the object has been deleted since the read.
    return known.map((end) => (end === "changed" || end === "not_found" ? ("changed" as const) : undefined));
  }

  async deleteKey(bucket: string, key: string, options: CallOptions): ApiResult<void> {
    const deleted = await this.#send("DeleteObject", options, (client, { DeleteObjectCommand }, send) =>
      client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key }), send),
    );
    return this.#ofPlatform(bucket, deleted).map(() => undefined);
  }

  /** Lists one page of the platform's own objects. */
  async keys(
    bucket: string,
    query: Omit<ListObjectsV2CommandInput, "Bucket">,
    options: CallOptions,
  ): ApiResult<ListObjectsV2CommandOutput> {
    const listed = await this.#list({ Bucket: bucket, ...query }, options);
    const known = this.#ofPlatform(bucket, listed);
    return known.andThen((page) => (page === "not_found" ? err(stateBucketMissing(bucket)) : ok(page)));
  }

  async headBucket(bucket: string, options: CallOptions): ApiResult<boolean> {
    const seen = await this.#send("HeadBucket", options, (client, { HeadBucketCommand }, send) =>
      client.send(new HeadBucketCommand({ Bucket: bucket }), send),
    );
    if (seen.isOk()) return ok(true);
    if (!isCallState(seen.error)) return err(seen.error);
    return seen.error.code === "not_found" ? ok(false) : err(unexpected(seen.error.error));
  }

  /**
   * `exists`: the name is taken, by this AWS account or another. `invalid`: the bucket quota is reached, or the name is
   * not valid.
   */
  async createBucket(
    id: string,
    tags: Readonly<Record<string, string>>,
    options: CallOptions,
  ): ApiResult<"exists" | "own" | "invalid" | "created"> {
    const created = await this.#send("CreateBucket", options, (client, { CreateBucketCommand }, send) => {
      const { region } = this.#deps;
      const location = region === "us-east-1" ? {} : { LocationConstraint: region as "eu-west-1" };
      const Tags = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
      const input = { Bucket: id, ObjectOwnership: "BucketOwnerEnforced" } as const;
      return client.send(new CreateBucketCommand({ ...input, CreateBucketConfiguration: { ...location, Tags } }), send);
    });
    if (created.isErr() && isCallState(created.error) && nameOf(created.error.error) === "BucketAlreadyOwnedByYou")
      return ok("own");
    return states("exists", "invalid")(created.map(() => "created" as const));
  }

  async blockPublicAccess(id: string, options: CallOptions): ApiResult<"not_found" | undefined> {
    const PublicAccessBlockConfiguration = {
      BlockPublicAcls: true,
      BlockPublicPolicy: true,
      IgnorePublicAcls: true,
      RestrictPublicBuckets: true,
    };
    const put = await this.#send("PutPublicAccessBlock", options, (client, { PutPublicAccessBlockCommand }, send) =>
      client.send(new PutPublicAccessBlockCommand({ Bucket: id, PublicAccessBlockConfiguration }), send),
    );
    return withoutResult("not_found")(put);
  }

  async enableVersioning(id: string, options: CallOptions): ApiResult<"not_found" | undefined> {
    const put = await this.#send("PutBucketVersioning", options, (client, { PutBucketVersioningCommand }, send) =>
      client.send(new PutBucketVersioningCommand({ Bucket: id, VersioningConfiguration: { Status: "Enabled" } }), send),
    );
    return withoutResult("not_found")(put);
  }

  async putLifecycle(id: string, Rules: LifecycleRule[], options: CallOptions): ApiResult<"not_found" | undefined> {
    const put = await this.#send("PutBucketLifecycle", options, (client, sdk, send) => {
      const input = { Bucket: id, LifecycleConfiguration: { Rules } };
      return client.send(new sdk.PutBucketLifecycleConfigurationCommand(input), send);
    });
    return withoutResult("not_found")(put);
  }

  async putPolicy(id: string, policy: object, options: CallOptions): ApiResult<"not_found" | undefined> {
    const put = await this.#send("PutBucketPolicy", options, (client, { PutBucketPolicyCommand }, send) =>
      client.send(new PutBucketPolicyCommand({ Bucket: id, Policy: JSON.stringify(policy) }), send),
    );
    return withoutResult("not_found")(put);
  }

  async deletePolicy(id: string, options: CallOptions): ApiResult<"not_found" | undefined> {
    const deleted = await this.#send("DeleteBucketPolicy", options, (client, { DeleteBucketPolicyCommand }, send) =>
      client.send(new DeleteBucketPolicyCommand({ Bucket: id }), send),
    );
    return withoutResult("not_found")(deleted);
  }

  /** `changed`: the bucket is not empty. */
  async deleteBucket(id: string, options: CallOptions): ApiResult<"not_found" | "changed" | undefined> {
    const deleted = await this.#send("DeleteBucket", options, (client, { DeleteBucketCommand }, send) =>
      client.send(new DeleteBucketCommand({ Bucket: id }), send),
    );
    return withoutResult("not_found", "changed")(deleted);
  }

  async objects(input: ListObjectsV2CommandInput, options: CallOptions) {
    return states("not_found")(await this.#list(input, options));
  }

  async head(bucket: string, key: string, options: CallOptions): ApiResult<HeadObjectCommandOutput | "not_found"> {
    const found = await this.#send("HeadObject", options, (client, { HeadObjectCommand }, send) =>
      client.send(new HeadObjectCommand({ Bucket: bucket, Key: key }), send),
    );
    return states("not_found")(found);
  }

  async get(bucket: string, key: string, options: CallOptions): ApiResult<GetObjectCommandOutput | "not_found"> {
    const found = await this.#send("GetObject", options, (client, { GetObjectCommand }, send) =>
      client.send(new GetObjectCommand({ Bucket: bucket, Key: key }), send),
    );
    return states("not_found")(found);
  }

  /** Deletes an object. A retry that no longer finds it counts as success: the first response was lost. */
  async deleteObject(bucket: string, key: string, options: CallOptions): ApiResult<"not_found" | undefined> {
    let tries = 0;
    const deleted = await this.#send("DeleteObject", options, (client, { DeleteObjectCommand }, send) => {
      tries += 1;
      // Without this condition, S3 reports success even if the object does not exist.
      return client.send(new DeleteObjectCommand({ Bucket: bucket, Key: key, IfMatch: "*" }), send);
    });
    const known = states("not_found", "changed")(deleted);
    return known.map((end) => ((end === "not_found" || end === "changed") && tries === 1 ? "not_found" : undefined));
  }

  /** Returns up to 1,000 versions and delete markers. */
  async versions(bucket: string, options: CallOptions): ApiResult<readonly ObjectIdentifier[] | "not_found"> {
    const listed = await this.#send("ListObjectVersions", options, (client, { ListObjectVersionsCommand }, send) =>
      client.send(new ListObjectVersionsCommand({ Bucket: bucket, EncodingType: "url" }), send),
    );
    const known = states("not_found")(listed);
    return known.map((page) => {
      if (page === "not_found") return page;
      return [...(page.Versions ?? []), ...(page.DeleteMarkers ?? [])].map(({ Key = "", VersionId }) => ({
        Key: decodedKey(Key),
        VersionId,
      }));
    });
  }

  /** Deletes up to 1,000 versions. The next listing returns those that could not be deleted. */
  async deleteVersions(
    bucket: string,
    versions: readonly ObjectIdentifier[],
    options: CallOptions,
  ): ApiResult<undefined> {
    const deleted = await this.#send("DeleteObjects", options, (client, { DeleteObjectsCommand }, send) =>
      client.send(new DeleteObjectsCommand({ Bucket: bucket, Delete: { Objects: [...versions], Quiet: true } }), send),
    );
    const known = states("not_found")(deleted);
    return known.andThen((end) => {
      const problem = end === "not_found" ? undefined : end.Errors?.[0];
      return problem === undefined ? ok(undefined) : err(unexpected(problem));
    });
  }

  /** Starts a multipart upload and returns its id. */
  async createUpload(bucket: string, key: string, options: CallOptions): ApiResult<string | "not_found"> {
    const begun = await this.#send("CreateMultipartUpload", options, (client, { CreateMultipartUploadCommand }, send) =>
      client.send(new CreateMultipartUploadCommand({ Bucket: bucket, Key: key }), send),
    );
    return states("not_found")(begun.map(({ UploadId = "" }) => UploadId));
  }

  #list(input: ListObjectsV2CommandInput, options: CallOptions) {
    return this.#send("ListObjectsV2", options, (client, { ListObjectsV2Command }, send) =>
      client.send(new ListObjectsV2Command({ ...input, EncodingType: "url" }), send),
    );
  }

  /** Fails with `unavailable` instead of `not_found` if the platform's own bucket does not exist. */
  #ofPlatform<T, S extends State = never>(
    bucket: string,
    result: Result<T, CallState | Unavailable>,
    ...more: readonly S[]
  ): Result<T | S | "not_found", Unavailable> {
    if (result.isErr() && isCallState(result.error) && nameOf(result.error.error) === "NoSuchBucket")
      return err(stateBucketMissing(bucket, result.error.error));
    return states<S | "not_found">("not_found", ...more)(result);
  }

  #send<T>(what: string, { signal }: CallOptions, act: Act<T>): Promise<Result<T, CallState | Unavailable>> {
    return this.#deps.call({ what: `s3.${what}`, signal }, async () => {
      const client = await this.#deps.client();
      return act(client, await load(), signal === undefined ? {} : { abortSignal: signal });
    });
  }
}

/**
 * Decodes keys of listings with `EncodingType=url`, because a key that XML cannot represent breaks the whole response.
 */
export const decodedKey = (key: string): string => decodeURIComponent(key.replaceAll("+", " "));
