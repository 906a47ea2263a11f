/**
 * The calls of Cloud Storage's JSON API that volumes need. Each returns the states that it expects as values.
 * https://cloud.google.com/storage/docs/json_api/v1
 */
import type { BucketMetadata, FileMetadata, Storage } from "@google-cloud/storage";
import { type Unavailable, unavailable } from "../../../core/errors.ts";
import type { CallOptions } from "../../../core/ports/system.ts";
import { err, ok, type Result } from "../../../core/result.ts";
import { type CallState, isCallState, type ProviderCall } from "../../shared/calls/provider-call.ts";
import { withTimeout } from "../call-policy.ts";

export type ApiResult<T> = Promise<Result<T, Unavailable>>;

type State = CallState["code"];
type Query = Readonly<Record<string, string | number | boolean | undefined>>;

interface Request {
  readonly what: string;
  readonly method?: "GET" | "POST" | "PATCH" | "PUT" | "DELETE";
  readonly uri: string;
  readonly query?: Query;
  readonly json?: unknown;
  readonly timeoutMs?: number;
}

export interface BucketPage {
  readonly items?: readonly BucketMetadata[];
  readonly nextPageToken?: string;
}

export interface ObjectPage {
  readonly items?: readonly FileMetadata[];
  readonly nextPageToken?: string;
}

export interface StorageApiDeps {
  readonly project: string;
  readonly storage: () => Promise<Storage>;
  readonly call: ProviderCall;
}

/**
 * How long to retry a creation or deletion of a bucket: a project may create or delete about one every two seconds
 * (https://cloud.google.com/storage/quotas).
 */
const BUCKET_RETRY_MS = 30_000;

const encode = encodeURIComponent;
const bucketUri = (bucket: string): string => `/b/${encode(bucket)}`;
const objectUri = (bucket: string, name: string): string => `/b/${encode(bucket)}/o/${encode(name)}`;

/** Returns the expected states as values. Any other state becomes an outage, because the call cannot have it. */
const states =
  <S extends State>(...expected: readonly S[]) =>
  <T>(result: Result<T, CallState | Unavailable>): Result<T | S, Unavailable> => {
    if (result.isOk()) return ok(result.value);
    if (!isCallState(result.error)) return err(result.error);
    const { code, error } = result.error;
    return expected.includes(code as S)
      ? ok(code as S)
      : err(unavailable("Cloud Storage returned an unexpected response.", 5, error));
  };

export class StorageApi {
  readonly #deps: StorageApiDeps;

  constructor(deps: StorageApiDeps) {
    this.#deps = deps;
  }

  storage(): Promise<Storage> {
    return this.#deps.storage();
  }

  /** Fetches all pages; a page has up to 1,000 buckets. */
  async buckets(prefix: string, softDeleted: boolean, options: CallOptions): ApiResult<BucketMetadata[]> {
    const all: BucketMetadata[] = [];
    for (let pageToken: string | undefined; ; ) {
      const query = { project: this.#deps.project, prefix, pageToken, ...(softDeleted ? { softDeleted } : {}) };
      const page = await this.#send<BucketPage>({ what: "buckets.list", uri: "/b", query }, options);
      const known = states<never>()(page);
      if (known.isErr()) return err(known.error);
      all.push(...(known.value.items ?? []));
      pageToken = known.value.nextPageToken;
      if (pageToken === undefined) return ok(all);
    }
  }

  async bucket(id: string, options: CallOptions): ApiResult<BucketMetadata | "not_found"> {
    return states("not_found")(await this.#send({ what: "buckets.get", uri: bucketUri(id) }, options));
  }

  /** `exists`: the name is taken, in any project. `changed` or `invalid`: an organization policy forbids the bucket. */
  async insertBucket(
    metadata: BucketMetadata,
    options: CallOptions,
  ): ApiResult<BucketMetadata | "exists" | "changed" | "invalid"> {
    const request = {
      what: "buckets.insert",
      method: "POST",
      uri: "/b",
      timeoutMs: BUCKET_RETRY_MS,
      json: metadata,
    } as const;
    const sent = await this.#send<BucketMetadata>({ ...request, query: { project: this.#deps.project } }, options);
    return states("exists", "changed", "invalid")(sent);
  }

  async patchBucket(
    id: string,
    ifMetagenerationMatch: string,
    metadata: BucketMetadata,
    options: CallOptions,
  ): ApiResult<BucketMetadata | "not_found" | "changed"> {
    const request = { what: "buckets.patch", method: "PATCH", uri: bucketUri(id), json: metadata } as const;
    const sent = await this.#send<BucketMetadata>({ ...request, query: { ifMetagenerationMatch } }, options);
    return states("not_found", "changed")(sent);
  }

  /** `exists`: the bucket is not empty. */
  async deleteBucket(
    id: string,
    ifMetagenerationMatch: string,
    options: CallOptions,
  ): ApiResult<unknown | "not_found" | "changed" | "exists"> {
    const request = {
      what: "buckets.delete",
      method: "DELETE",
      uri: bucketUri(id),
      timeoutMs: BUCKET_RETRY_MS,
    } as const;
    const sent = await this.#send({ ...request, query: { ifMetagenerationMatch } }, options);
    return states("not_found", "changed", "exists")(sent);
  }

  /** Restores a bucket without its objects. `exists`: the bucket is not deleted. */
  async restoreBucket(
    id: string,
    generation: string,
    options: CallOptions,
  ): ApiResult<BucketMetadata | "not_found" | "exists"> {
    const request = { what: "buckets.restore", method: "POST", uri: `${bucketUri(id)}/restore` } as const;
    const sent = await this.#send<BucketMetadata>(
      { ...request, query: { generation }, timeoutMs: BUCKET_RETRY_MS },
      options,
    );
    return states("not_found", "exists")(sent);
  }

  async objects(bucket: string, query: Query, options: CallOptions): ApiResult<ObjectPage | "not_found"> {
    const request = { what: "objects.list", uri: `${bucketUri(bucket)}/o`, query };
    return states("not_found")(await this.#send<ObjectPage>(request, options));
  }

  async object(bucket: string, name: string, options: CallOptions): ApiResult<FileMetadata | "not_found"> {
    return states("not_found")(await this.#send({ what: "objects.get", uri: objectUri(bucket, name) }, options));
  }

  /** A retry that finds no object counts as success. @param ifGenerationMatch deletes any generation if undefined */
  async deleteObject(
    bucket: string,
    name: string,
    ifGenerationMatch: string | undefined,
    options: CallOptions,
  ): ApiResult<unknown | "not_found" | "changed"> {
    const request = { what: "objects.delete", method: "DELETE", uri: objectUri(bucket, name) } as const;
    let tries = 0;
    const sent = await this.#deps.call({ what: `storage.${request.what}`, signal: options.signal }, () => {
      tries += 1;
      return this.#request({ ...request, query: { ifGenerationMatch } });
    });
    const known = states("not_found", "changed")(sent);
    return known.map((response) => (response === "not_found" && tries > 1 ? undefined : response));
  }

  /** `changed`: a live object has the name. */
  async restoreObject(
    bucket: string,
    name: string,
    generation: string,
    options: CallOptions,
  ): ApiResult<FileMetadata | "not_found" | "changed"> {
    const uri = `${objectUri(bucket, name)}/restore`;
    const request = { what: "objects.restore", method: "POST", uri } as const;
    const query = { generation, ifGenerationMatch: 0 };
    return states("not_found", "changed")(await this.#send<FileMetadata>({ ...request, query }, options));
  }

  /** Creates an empty object with this metadata, if the name is free. `not_found`: the bucket does not exist. */
  async insertEmptyObject(
    bucket: string,
    name: string,
    metadata: Readonly<Record<string, string>>,
    options: CallOptions,
  ): ApiResult<unknown | "changed" | "not_found"> {
    const sent = await this.#deps.call({ what: "storage.objects.insert", signal: options.signal }, async () => {
      const file = (await this.#deps.storage()).bucket(bucket).file(name);
      const precondition = { preconditionOpts: { ifGenerationMatch: 0 }, metadata: { metadata: { ...metadata } } };
      await withTimeout(file.save("", { ...precondition, resumable: false, validation: false }));
    });
    return states("changed", "not_found")(sent);
  }

  #send<T>(request: Request, { signal }: CallOptions): Promise<Result<T, CallState | Unavailable>> {
    const limit = request.timeoutMs === undefined ? {} : { timeoutMs: request.timeoutMs };
    const description = { what: `storage.${request.what}`, signal, ...limit };
    return this.#deps.call(description, () => this.#request<T>(request));
  }

  async #request<T>({ method = "GET", uri, query, json }: Request): Promise<T> {
    const storage = await this.#deps.storage();
    const qs = Object.fromEntries(Object.entries(query ?? {}).filter(([, value]) => value !== undefined));
    const body = json === undefined ? {} : { json: json as object };
    const response = new Promise<T>((resolve, reject) => {
      storage.request({ method, uri, qs, ...body }, (error: Error | null, body_: unknown) =>
        error === null || error === undefined ? resolve(body_ as T) : reject(error),
      );
    });
    return withTimeout(response);
  }
}
