/**
 * The S3 API calls of volumes. Each call returns expected states, such as `not_found`, as values.
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_Operations_Amazon_Simple_Storage_Service.html
 */
import type {
  CORSRule,
  GetObjectCommandOutput,
  HeadObjectCommandOutput,
  LifecycleRule,
  ListObjectsV2CommandInput,
  ListObjectsV2CommandOutput,
  ListPartsCommandOutput,
  ObjectIdentifier,
  TransitionDefaultMinimumObjectSize,
} from "@aws-sdk/client-s3";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result, ResultAsync } from "../../../core/result.ts";
import { type ApiResult, expectStates, type State } from "../../cloud/calls/expect-states.ts";
import { type CallState, isCallState, type ProviderCall } from "../../cloud/calls/provider-call.ts";
import { type Called, commandSender, nameOf } from "../call-policy.ts";
import { type ClientSource, type CommandName, type InputOf, type OutputOf, sendCommand } from "../clients.ts";
import { readText, type StateObject } from "../state/state-bucket.ts";

export interface S3ApiDeps {
  readonly region: string;
  readonly clients: ClientSource;
  readonly call: ProviderCall;
}

/** The object must not exist, or must have this ETag. */
export type PutCondition = { readonly IfNoneMatch: "*" } | { readonly IfMatch: string };

export const stateBucketMissing = (bucket: string, error?: unknown): Unavailable =>
  unavailable(`The platform's bucket '${bucket}' does not exist. Check the stack that created it.`, 60, error);

/**
 * The lifecycle of a bucket. A write without `minimumSize` resets it:
 * https://docs.aws.amazon.com/AmazonS3/latest/API/API_PutBucketLifecycleConfiguration.html
 */
export interface Lifecycle {
  readonly rules: readonly LifecycleRule[];
  readonly minimumSize: TransitionDefaultMinimumObjectSize | undefined;
}

/** https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketLifecycleConfiguration.html */
const NO_LIFECYCLE = "NoSuchLifecycleConfiguration";

/** Milliseconds within which S3 must abort an upload. */
const ABORT_TIMEOUT_MS = 5000;

/** The error of a bucket without CORS rules: https://docs.aws.amazon.com/AmazonS3/latest/API/API_GetBucketCors.html */
export const NO_CORS = "NoSuchCORSConfiguration";

const nothing = () => undefined;

const UNEXPECTED = "AWS returned an unexpected response.";

const expect = expectStates(UNEXPECTED);

/** Like `expect`, for the platform's own bucket. Fails with `unavailable` if the bucket does not exist. */
const expectInStateBucket =
  <S extends State>(bucket: string, ...states: readonly S[]) =>
  (error: CallState | Unavailable): Result<S, Unavailable> =>
    isCallState(error) && nameOf(error.error) === "NoSuchBucket"
      ? err(stateBucketMissing(bucket, error.error))
      : expect(...states)(error);

/** A multipart upload that is not complete. */
interface IncompleteUpload {
  readonly key: string;
  readonly id: string;
}

/** S3 calls that the caller's signal aborts. */
export class S3Api {
  readonly #deps: S3ApiDeps;
  readonly #signal: AbortSignal | undefined;

  constructor(deps: S3ApiDeps, { signal }: CallOptions = {}) {
    this.#deps = deps;
    this.#signal = signal;
  }

  /** Reads one of the platform's own objects as text. */
  text(bucket: string, key: string): ApiResult<StateObject | "not_found"> {
    const { clients, call } = this.#deps;
    const signal = this.#signal;
    const read = call({ what: "s3.GetObject", signal }, () => readText(clients, bucket, key, signal));
    return new ResultAsync(read).orElse(expectInStateBucket(bucket, "not_found"));
  }

  /**
   * Writes one of the platform's own objects. Without a condition, overwrites an existing object. Returns `changed` if
   * the condition does not hold.
   */
  putText(
    bucket: string,
    key: string,
    text: string,
    condition: PutCondition | undefined,
  ): ApiResult<"changed" | undefined> {
    // The SDK sets no length for an empty body.
    const body = { Body: text, ContentLength: Buffer.byteLength(text), ContentType: "application/json" };
    return (
      this.#send("PutObjectCommand", { Bucket: bucket, Key: key, ...body, ...condition })
        .map(nothing)
        .orElse(expectInStateBucket(bucket, "not_found", "changed"))
        // With IfMatch, `not_found` means that the object has been deleted since the read.
        .map((state) => (state === undefined ? undefined : "changed"))
    );
  }

  deleteKey(bucket: string, key: string): ApiResult<void> {
    return this.#send("DeleteObjectCommand", { Bucket: bucket, Key: key })
      .orElse(expectInStateBucket(bucket, "not_found"))
      .map(nothing);
  }

  /** Lists one page of the platform's own objects. */
  keys(bucket: string, query: Omit<ListObjectsV2CommandInput, "Bucket">): ApiResult<ListObjectsV2CommandOutput> {
    return this.#list({ Bucket: bucket, ...query })
      .orElse(expectInStateBucket(bucket, "not_found"))
      .andThen((page) => (page === "not_found" ? err(stateBucketMissing(bucket)) : ok(page)));
  }

  headBucket(bucket: string): ApiResult<boolean> {
    return this.#send("HeadBucketCommand", { Bucket: bucket })
      .orElse(expect("not_found"))
      .map((seen) => seen !== "not_found");
  }

  /**
   * Returns `own` if this AWS account already has the bucket, and `exists` if another account has a bucket of this
   * name. Returns `invalid` if the bucket quota is reached or the name is invalid.
   */
  createBucket(
    id: string,
    tags: Readonly<Record<string, string>>,
  ): ApiResult<"exists" | "own" | "invalid" | "created"> {
    const { region } = this.#deps;
    const location = region === "us-east-1" ? {} : { LocationConstraint: region as "eu-west-1" };
    const Tags = Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));
    const CreateBucketConfiguration = { ...location, Tags };
    const input = { Bucket: id, ObjectOwnership: "BucketOwnerEnforced", CreateBucketConfiguration } as const;
    return this.#send("CreateBucketCommand", input)
      .map(() => "created" as const)
      .orElse((error) =>
        isCallState(error) && nameOf(error.error) === "BucketAlreadyOwnedByYou"
          ? ok("own" as const)
          : expect("exists", "invalid")(error),
      );
  }

  blockPublicAccess(id: string): ApiResult<"not_found" | undefined> {
    const PublicAccessBlockConfiguration = {
      BlockPublicAcls: true,
      BlockPublicPolicy: true,
      IgnorePublicAcls: true,
      RestrictPublicBuckets: true,
    };
    return this.#send("PutPublicAccessBlockCommand", { Bucket: id, PublicAccessBlockConfiguration })
      .map(nothing)
      .orElse(expect("not_found"));
  }

  enableVersioning(id: string): ApiResult<"not_found" | undefined> {
    const input = { Bucket: id, VersioningConfiguration: { Status: "Enabled" } } as const;
    return this.#send("PutBucketVersioningCommand", input).map(nothing).orElse(expect("not_found"));
  }

  lifecycle(id: string): ApiResult<Lifecycle | "not_found"> {
    return this.#send("GetBucketLifecycleConfigurationCommand", { Bucket: id })
      .map(({ Rules = [], TransitionDefaultMinimumObjectSize: minimumSize }): Lifecycle | "not_found" => ({
        rules: Rules,
        minimumSize,
      }))
      .orElse((error) =>
        isCallState(error) && nameOf(error.error) === NO_LIFECYCLE
          ? ok({ rules: [], minimumSize: undefined })
          : expect("not_found")(error),
      );
  }

  putLifecycle(id: string, { rules, minimumSize }: Lifecycle): ApiResult<"not_found" | undefined> {
    const input = {
      Bucket: id,
      LifecycleConfiguration: { Rules: [...rules] },
      TransitionDefaultMinimumObjectSize: minimumSize,
    };
    return this.#send("PutBucketLifecycleConfigurationCommand", input).map(nothing).orElse(expect("not_found"));
  }

  cors(id: string): ApiResult<readonly CORSRule[] | "not_found"> {
    return this.#send("GetBucketCorsCommand", { Bucket: id })
      .map(({ CORSRules = [] }): readonly CORSRule[] | "not_found" => CORSRules)
      .orElse((error) => (isCallState(error) && nameOf(error.error) === NO_CORS ? ok([]) : expect("not_found")(error)));
  }

  putCors(id: string, CORSRules: CORSRule[]): ApiResult<"not_found" | undefined> {
    return this.#send("PutBucketCorsCommand", { Bucket: id, CORSConfiguration: { CORSRules } })
      .map(nothing)
      .orElse(expect("not_found"));
  }

  putPolicy(id: string, policy: object): ApiResult<"not_found" | undefined> {
    return this.#send("PutBucketPolicyCommand", { Bucket: id, Policy: JSON.stringify(policy) })
      .map(nothing)
      .orElse(expect("not_found"));
  }

  deletePolicy(id: string): ApiResult<"not_found" | undefined> {
    return this.#send("DeleteBucketPolicyCommand", { Bucket: id }).map(nothing).orElse(expect("not_found"));
  }

  /** Returns `changed` if the bucket is not empty. */
  deleteBucket(id: string): ApiResult<"not_found" | "changed" | undefined> {
    return this.#send("DeleteBucketCommand", { Bucket: id }).map(nothing).orElse(expect("not_found", "changed"));
  }

  objects(input: ListObjectsV2CommandInput): ApiResult<ListObjectsV2CommandOutput | "not_found"> {
    return this.#list(input).orElse(expect("not_found"));
  }

  head(bucket: string, key: string): ApiResult<HeadObjectCommandOutput | "not_found"> {
    return this.#send("HeadObjectCommand", { Bucket: bucket, Key: key }).orElse(expect("not_found"));
  }

  get(bucket: string, key: string): ApiResult<GetObjectCommandOutput | "not_found"> {
    return this.#send("GetObjectCommand", { Bucket: bucket, Key: key }).orElse(expect("not_found"));
  }

  /** Deletes an object. If a retry does not find the object, an earlier attempt deleted it, so the call succeeds. */
  deleteObject(bucket: string, key: string): ApiResult<"not_found" | undefined> {
    const { clients, call } = this.#deps;
    const signal = this.#signal;
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
  versions(bucket: string): ApiResult<readonly ObjectIdentifier[] | "not_found"> {
    return this.#send("ListObjectVersionsCommand", { Bucket: bucket, EncodingType: "url" })
      .map(({ Versions = [], DeleteMarkers = [] }) =>
        [...Versions, ...DeleteMarkers].map(({ Key = "", VersionId }) => ({ Key: decodedKey(Key), VersionId })),
      )
      .orElse(expect("not_found"));
  }

  /** Deletes up to 1,000 versions. Fails with `unavailable` if S3 could not delete all of them. */
  deleteVersions(bucket: string, versions: readonly ObjectIdentifier[]): ApiResult<undefined> {
    const input = { Bucket: bucket, Delete: { Objects: [...versions], Quiet: true } };
    return this.#send("DeleteObjectsCommand", input)
      .map(({ Errors = [] }) => Errors[0])
      .orElse((error) => expect("not_found")(error).map(nothing))
      .andThen((problem) => (problem === undefined ? ok(undefined) : err(unavailable(UNEXPECTED, 5, problem))));
  }

  /** Lists incomplete multipart uploads of the bucket, up to `max`, which is at most 1,000. */
  uploads(bucket: string, max: number): ApiResult<readonly IncompleteUpload[] | "not_found"> {
    return this.#send("ListMultipartUploadsCommand", { Bucket: bucket, MaxUploads: max, EncodingType: "url" })
      .map(({ Uploads = [] }) => Uploads.map(({ Key = "", UploadId = "" }) => ({ key: decodedKey(Key), id: UploadId })))
      .orElse(expect("not_found"));
  }

  /** Deletes the parts of a multipart upload. Succeeds if the upload does not exist. */
  abortUpload(bucket: string, { key, id }: IncompleteUpload): ApiResult<undefined> {
    const input = { Bucket: bucket, Key: key, UploadId: id };
    return this.#send("AbortMultipartUploadCommand", input, ABORT_TIMEOUT_MS)
      .map(nothing)
      .orElse(expect("not_found"))
      .map(nothing);
  }

  /** Starts a multipart upload and returns its id. */
  createUpload(bucket: string, key: string): ApiResult<{ readonly upload: string } | "not_found"> {
    return this.#send("CreateMultipartUploadCommand", { Bucket: bucket, Key: key })
      .map(({ UploadId = "" }) => ({ upload: UploadId }))
      .orElse(expect("not_found"));
  }

  /** Returns up to 1,000 parts of a multipart upload. @param after the number of the last part of the previous page */
  uploadedParts(
    bucket: string,
    key: string,
    upload: string,
    after: string | undefined,
  ): ApiResult<ListPartsCommandOutput | "not_found"> {
    const input = { Bucket: bucket, Key: key, UploadId: upload, PartNumberMarker: after };
    return this.#send("ListPartsCommand", input).orElse(expect("not_found"));
  }

  #send<C extends CommandName<"s3">>(
    command: C,
    input: InputOf<"s3", C>,
    timeoutMs?: number,
  ): Called<OutputOf<"s3", C>> {
    const { clients, call } = this.#deps;
    const options = { signal: this.#signal, ...(timeoutMs === undefined ? {} : { timeoutMs }) };
    return commandSender("s3", "s3", clients, call)(command, input, options);
  }

  #list(input: ListObjectsV2CommandInput) {
    return this.#send("ListObjectsV2Command", { ...input, EncodingType: "url" });
  }
}

/**
 * Decodes a key from a listing. Listings request `EncodingType=url`. Otherwise, a single key that XML cannot represent
 * would make the whole response unreadable.
 */
export const decodedKey = (key: string): string => decodeURIComponent(key.replaceAll("+", " "));
