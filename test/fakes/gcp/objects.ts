/**
 * Objects and bucket policies of Cloud Storage's JSON API, as much of it as staging sources and granting rights take:
 * https://cloud.google.com/storage/docs/json_api/v1
 */
import { CRC32C } from "@google-cloud/storage";
import { Faults } from "./faults.ts";
import { type RestReply, type RestRequest, restError, serveRest } from "./rest-server.ts";

interface Bucket {
  readonly objects: Map<string, { readonly bytes: Buffer; readonly generation: number }>;
  policy: { etag: string; bindings: { role: string; members: string[] }[] };
}

const OBJECT = /^\/storage\/v1\/b\/([^/]+)\/o\/([^/]+)$/;
const UPLOAD = /^\/upload\/storage\/v1\/b\/([^/]+)\/o$/;
const POLICY = /^\/storage\/v1\/b\/([^/]+)\/iam$/;

/** The parts of `uploadType=multipart`: metadata, then the content. */
const contentOf = ({ headers, body }: RestRequest): Buffer => {
  const boundary = /boundary="?([^";]+)/.exec(headers["content-type"] ?? "")?.[1] ?? "";
  const mark = Buffer.from(`--${boundary}`);
  const second = body.indexOf(mark, body.indexOf(mark) + mark.length);
  const from = body.indexOf("\r\n\r\n", second) + 4;
  return body.subarray(from, body.indexOf(Buffer.from(`\r\n--${boundary}`), from));
};

export class FakeObjects {
  readonly faults = new Faults();
  readonly buckets = new Map<string, Bucket>();
  #generation = 0;

  addBucket(name: string): void {
    this.buckets.set(name, { objects: new Map(), policy: { etag: "p0", bindings: [] } });
  }

  read(bucket: string, name: string): Buffer | undefined {
    return this.buckets.get(bucket)?.objects.get(name)?.bytes;
  }

  write(bucket: string, name: string, bytes: Buffer): void {
    this.buckets.get(bucket)?.objects.set(name, { bytes, generation: ++this.#generation });
  }

  async open() {
    return serveRest(this.faults, (request) => {
      const { pathname, searchParams } = request.url;
      const part = (pattern: RegExp) => pattern.exec(pathname)?.slice(1).map(decodeURIComponent);
      const [object, upload, policy] = [part(OBJECT), part(UPLOAD), part(POLICY)];
      if (upload !== undefined) return { method: "objects.insert", act: () => this.#insert(upload[0] ?? "", request) };
      if (object !== undefined && request.method === "GET") {
        const media = searchParams.get("alt") === "media";
        return { method: media ? "objects.media" : "objects.get", act: () => this.#get(object, request, media) };
      }
      if (policy !== undefined)
        return {
          method: request.method === "PUT" ? "buckets.setIamPolicy" : "buckets.getIamPolicy",
          act: () => this.#policy(policy[0] ?? "", request),
        };
      return undefined;
    });
  }

  #insert(bucket: string, request: RestRequest): RestReply {
    const name = request.url.searchParams.get("name") ?? "";
    const found = this.buckets.get(bucket);
    if (found === undefined) return restError(404, "The specified bucket does not exist.");
    // "ifGenerationMatch=0: only if there are no live versions": json_api/v1/objects/insert.
    if (request.url.searchParams.get("ifGenerationMatch") === "0" && found.objects.has(name))
      return restError(412, "At least one of the pre-conditions you specified did not hold.");
    this.write(bucket, name, Buffer.from(contentOf(request)));
    return { status: 200, body: this.#metadata(bucket, name) };
  }

  #metadata(bucket: string, name: string) {
    const bytes = this.read(bucket, name) ?? Buffer.alloc(0);
    const checksum = new CRC32C();
    checksum.update(bytes);
    return { kind: "storage#object", bucket, name, size: String(bytes.length), crc32c: checksum.toString() };
  }

  #get([bucket = "", name = ""]: string[], { headers }: RestRequest, media: boolean): RestReply {
    const bytes = this.read(bucket, name);
    if (bytes === undefined) return restError(404, `No such object: ${bucket}/${name}`);
    if (!media) return { status: 200, body: this.#metadata(bucket, name) };
    const from = Number(/^bytes=(\d+)-/.exec(headers.range ?? "")?.[1] ?? 0);
    // RFC 9110, 15.5.17.
    if (headers.range !== undefined && from >= bytes.length) return restError(416, "The range cannot be satisfied.");
    const range = `bytes ${from}-${bytes.length - 1}/${bytes.length}`;
    return headers.range === undefined
      ? { status: 200, body: bytes }
      : { status: 206, body: bytes.subarray(from), headers: { "content-range": range } };
  }

  #policy(bucket: string, { method, body }: RestRequest): RestReply {
    const found = this.buckets.get(bucket);
    if (found === undefined) return restError(404, "The specified bucket does not exist.");
    if (method !== "PUT") return { status: 200, body: found.policy };
    const given = JSON.parse(body.toString());
    // "If there is a mismatch, the request fails with 412": docs/json_api/v1/buckets/setIamPolicy.
    if (given.etag !== undefined && given.etag !== found.policy.etag) return restError(412, "The policy was changed.");
    found.policy = { etag: `p${++this.#generation}`, bindings: given.bindings ?? [] };
    return { status: 200, body: found.policy };
  }
}
