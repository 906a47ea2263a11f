/**
 * The calls of Cloud Storage's JSON API that volumes need. Each call returns its expected error states as values.
 * https://cloud.google.com/storage/docs/json_api/v1
 */
import type { BucketMetadata, FileMetadata, Storage } from "@google-cloud/storage";
import { ok, ResultAsync, safeTry } from "../../../core/result.ts";
import { type ApiResult, expectStates, type State } from "../../cloud/calls/expect-states.ts";
import type { CallNeeds, ProviderCall } from "../../cloud/calls/provider-call.ts";
import { type RestRequest, sendRest, withTimeout } from "../call-policy.ts";

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

interface Request extends Pick<CallNeeds, "what" | "timeoutMs">, Partial<Omit<RestRequest, "uri" | "qs">> {
  readonly uri: string;
  readonly query?: Query;
}

interface Page<T> {
  readonly items?: readonly T[];
  /** Common prefixes, in listings of objects with a delimiter. */
  readonly prefixes?: readonly string[];
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

const expectInStorage = expectStates("Cloud Storage returned an unexpected response.");

/** The calls of one caller, whose signal ends their retries. */
export class StorageApi {
  readonly #deps: StorageApiDeps;
  readonly #signal: AbortSignal | undefined;

  constructor(deps: StorageApiDeps, signal?: AbortSignal) {
    this.#deps = deps;
    this.#signal = signal;
  }

  storage(): Promise<Storage> {
    return this.#deps.storage();
  }

  /** Fetches all pages; a page has up to 1,000 buckets. */
  buckets(prefix: string, softDeleted: boolean): ApiResult<BucketMetadata[]> {
    const { project } = this.#deps;
    const page = (pageToken: string | undefined): ApiResult<Page<BucketMetadata>> => {
      const query = { project, prefix, pageToken, ...(softDeleted ? { softDeleted } : {}) };
      return this.#send({ what: "buckets.list", uri: "/b", query });
    };
    return safeTry(async function* () {
      const all: BucketMetadata[] = [];
      for (let pageToken: string | undefined; ; ) {
        const { items = [], nextPageToken } = yield* page(pageToken);
        all.push(...items);
        pageToken = nextPageToken;
        if (pageToken === undefined) return ok(all);
      }
    });
  }

  bucket(id: string): ApiResult<BucketMetadata | "not_found"> {
    return this.#send({ what: "buckets.get", uri: bucketUri(id) }, "not_found");
  }

  /**
   * `exists`: the name is taken, possibly in another project. `changed` or `invalid`: an organization policy forbids
   * the bucket.
   */
  insertBucket(json: BucketMetadata): ApiResult<BucketMetadata | "exists" | "changed" | "invalid"> {
    const query = { project: this.#deps.project };
    const request = { what: "buckets.insert", uri: "/b", timeoutMs: BUCKET_RETRY_MS } as const;
    return this.#send({ ...request, method: "POST", query, json }, "exists", "changed", "invalid");
  }

  patchBucket(
    id: string,
    ifMetagenerationMatch: string,
    json: BucketMetadata,
  ): ApiResult<BucketMetadata | "not_found" | "changed"> {
    const request = { what: "buckets.patch", method: "PATCH", uri: bucketUri(id) } as const;
    return this.#send({ ...request, query: { ifMetagenerationMatch }, json }, "not_found", "changed");
  }

  /** `exists`: the bucket is not empty. */
  deleteBucket(id: string, ifMetagenerationMatch: string): ApiResult<undefined | "not_found" | "changed" | "exists"> {
    const request = { what: "buckets.delete", uri: bucketUri(id), timeoutMs: BUCKET_RETRY_MS } as const;
    const query = { ifMetagenerationMatch };
    return this.#send({ ...request, method: "DELETE", query }, "not_found", "changed", "exists");
  }

  /** Restores a bucket without its objects. `exists`: the bucket is not deleted. */
  restoreBucket(id: string, generation: string): ApiResult<BucketMetadata | "not_found" | "exists"> {
    const request = { what: "buckets.restore", uri: `${bucketUri(id)}/restore`, timeoutMs: BUCKET_RETRY_MS } as const;
    return this.#send({ ...request, method: "POST", query: { generation } }, "not_found", "exists");
  }

  objects(bucket: string, query: Query): ApiResult<Page<FileMetadata> | "not_found"> {
    return this.#send({ what: "objects.list", uri: `${bucketUri(bucket)}/o`, query }, "not_found");
  }

  object(bucket: string, name: string): ApiResult<FileMetadata | "not_found"> {
    return this.#send({ what: "objects.get", uri: objectUri(bucket, name) }, "not_found");
  }

  /** A retry that finds no object counts as success. @param ifGenerationMatch if undefined, deletes any generation */
  deleteObject(
    bucket: string,
    name: string,
    ifGenerationMatch: string | undefined,
  ): ApiResult<undefined | "not_found" | "changed"> {
    const request = { method: "DELETE", uri: objectUri(bucket, name), query: { ifGenerationMatch } } as const;
    let tries = 0;
    const sent = this.#call<undefined | "not_found" | "changed">({ what: "objects.delete" }, () => {
      tries += 1;
      return this.#request(request);
    }, ["not_found", "changed"]);
    return sent.map((response) => (response === "not_found" && tries > 1 ? undefined : response));
  }

  /** `changed`: a live object has the name. */
  restoreObject(bucket: string, name: string, generation: string): ApiResult<FileMetadata | "not_found" | "changed"> {
    const request = { what: "objects.restore", uri: `${objectUri(bucket, name)}/restore` } as const;
    const query = { generation, ifGenerationMatch: 0 };
    return this.#send({ ...request, method: "POST", query }, "not_found", "changed");
  }

  /** Creates an empty object with this metadata, if the name is free. `not_found`: the bucket does not exist. */
  insertEmptyObject(
    bucket: string,
    name: string,
    metadata: Readonly<Record<string, string>>,
  ): ApiResult<undefined | "changed" | "not_found"> {
    const insert = async (): Promise<undefined> => {
      const file = (await this.#deps.storage()).bucket(bucket).file(name);
      const precondition = { preconditionOpts: { ifGenerationMatch: 0 }, metadata: { metadata: { ...metadata } } };
      await withTimeout(file.save("", { ...precondition, resumable: false, validation: false }));
    };
    return this.#call({ what: "objects.insert" }, insert, ["changed", "not_found"]);
  }

  /**
   * Calls the XML API, because only this API has uploads in parts. Returns the XML of the response.
   * `invalid`: a parameter is malformed, such as the id of an upload. With an empty name, calls the bucket itself.
   * https://cloud.google.com/storage/docs/xml-api/overview
   */
  xml(
    what: string,
    method: "GET" | "POST",
    { bucket, name }: { readonly bucket: string; readonly name: string },
    query: Readonly<Record<string, string>>,
  ): ApiResult<string | "not_found" | "invalid"> {
    const send = async (): Promise<string> => {
      const { apiEndpoint, authClient } = await this.#deps.storage();
      const path = [bucket, ...(name === "" ? [] : name.split("/"))].map(encode).join("/");
      const url = `${apiEndpoint}/${path}?${new URLSearchParams(query)}`;
      // The client would parse an error response as JSON to find the status, but the XML API does not return JSON.
      const options = { url, method, responseType: "text", validateStatus: () => true } as const;
      // With a service account's key that has no scopes, the client creates a token only if it knows the URL.
      const request = authClient
        .getRequestHeaders(url)
        .then((sent) => authClient.request<string>({ ...options, headers: sent }));
      const { status, data, headers } = await withTimeout(request);
      if (status < 300) return data;
      throw Object.assign(new Error(data), { code: status, response: { headers } });
    };
    return new ResultAsync(this.#deps.call({ what: `storage.${what}`, signal: this.#signal }, send)).orElse(
      expectInStorage("not_found", "invalid"),
    );
  }

  #send<T>(request: Request, ...expected: readonly Extract<T, State>[]): ApiResult<T> {
    return this.#call(request, () => this.#request<T>(request), expected);
  }

  #call<T>(
    { what, timeoutMs }: Pick<Request, "what" | "timeoutMs">,
    work: () => Promise<T>,
    expected: readonly Extract<T, State>[],
  ): ApiResult<T> {
    const needs = { what: `storage.${what}`, signal: this.#signal, ...(timeoutMs && { timeoutMs }) };
    return new ResultAsync(this.#deps.call(needs, work)).orElse(expectInStorage(...expected));
  }

  async #request<T>({ method = "GET", uri, query = {}, json }: Omit<Request, "what">): Promise<T> {
    const storage = await this.#deps.storage();
    const qs = Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined));
    return withTimeout(sendRest<T>(storage, { method, uri, qs, ...(json && { json }) }));
  }
}
