/**
 * A fake S3 bucket with the calls that the platform's state needs: put, get, delete and list, with conditions.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/conditional-writes.html
 */
import { createHash } from "node:crypto";
import { S3Client } from "@aws-sdk/client-s3";
import { Faults } from "../../faults.ts";
import { clientOptions } from "../protocols.ts";
import { recorded } from "../requests/recorder.ts";
import { AwsError, type AwsMethod, type AwsReply, type AwsService, serveAws } from "../server.ts";
import { STATE_BUCKET } from "../test-config.ts";
import { printXml } from "../xml.ts";

interface Stored {
  readonly bytes: Buffer;
  readonly etag: string;
  readonly tags: string;
}

const PAGE = 1000;

const notThere = () => new AwsError("NoSuchKey", "The specified key does not exist.", 404);
const unmet = () =>
  new AwsError("PreconditionFailed", "At least one of the pre-conditions you specified did not hold", 412);

export const startStateBucket = async (name = STATE_BUCKET) => {
  const faults = new Faults();
  const objects = new Map<string, Stored>();
  /**
   * How many conditional writes conflict with a concurrent one: "409 ConditionalRequestConflict" (PutObjectRequest,
   * IfNoneMatch).
   */
  const settings = { conflicts: 0 };

  const put = (key: string, bytes: Buffer, headers: Readonly<Record<string, unknown>>): { ETag: string } => {
    const present = objects.get(key);
    const wanted = headers["if-match"];
    if ((wanted ?? headers["if-none-match"]) !== undefined && settings.conflicts-- > 0)
      throw new AwsError("ConditionalRequestConflict", "A conflicting operation occurred during the upload.", 409);
    if (headers["if-none-match"] === "*" && present !== undefined) throw unmet();
    // "404 Not Found" if no object exists to match.
    if (wanted !== undefined && present === undefined) throw notThere();
    if (wanted !== undefined && present?.etag !== wanted) throw unmet();
    const etag = `"${createHash("md5").update(bytes).digest("hex")}"`;
    objects.set(key, { bytes, etag, tags: String(headers["x-amz-tagging"] ?? "") });
    return { ETag: etag };
  };

  const list = (query: URLSearchParams) => {
    const prefix = query.get("prefix") ?? "";
    const from = query.get("continuation-token") ?? "";
    const max = Math.min(Number(query.get("max-keys") ?? PAGE), PAGE);
    const keys = [...objects.keys()].filter((key) => key.startsWith(prefix) && key > from).sort();
    const page = keys.slice(0, max);
    const next = keys.length > max ? page.at(-1) : undefined;
    const Contents = page.map((key) => ({ Key: key, ETag: objects.get(key)?.etag }));
    const rest = { KeyCount: page.length, IsTruncated: next !== undefined, NextContinuationToken: next };
    return { body: printXml({ ListBucketResult: { Contents, ...rest } }) };
  };

  const replied = ({ ETag, body = "" }: { readonly ETag?: string; readonly body?: Buffer | string }): AwsReply => ({
    status: 200,
    headers: ETag === undefined ? {} : { etag: ETag },
    body,
  });

  const route: AwsService["route"] = ({ verb, path, query, headers, body }): AwsMethod => {
    const [, bucket, ...rest] = path.split("/").map(decodeURIComponent);
    const key = rest.join("/");
    if (bucket !== name) throw new AwsError("NoSuchBucket", "The specified bucket does not exist", 404);
    if (verb === "PUT") return { method: "PutObject", act: () => replied(put(key, body, headers)) };
    if (verb === "GET" && key === "") return { method: "ListObjectsV2", act: () => replied(list(query)) };
    // S3 responds "204" even if the object does not exist (DeleteObject).
    const remove = () => {
      objects.delete(key);
      return { status: 204, headers: {}, body: "" };
    };
    if (verb === "DELETE") return { method: "DeleteObject", act: remove };
    const read = () => {
      const found = objects.get(key);
      if (found === undefined) throw notThere();
      return { ETag: found.etag, body: found.bytes };
    };
    if (verb === "GET") return { method: "GetObject", act: () => replied(read()) };
    if (verb === "HEAD") return { method: "HeadObject", act: () => replied(read()) };
    throw new AwsError("MethodNotAllowed", "not here", 405);
  };

  const server = await serveAws(faults, {
    route,
    failed: ({ code, message, status }) => ({
      status,
      headers: { "content-type": "application/xml" },
      body: printXml({ Error: { Code: code, Message: message } }),
    }),
    injected: {
      unavailable: new AwsError("ServiceUnavailable", "Service unavailable (injected).", 503),
      permission_denied: new AwsError("AccessDenied", "Access Denied (injected).", 403),
      resource_exhausted: new AwsError("SlowDown", "Please reduce your request rate (injected).", 503),
    },
  });
  const client = recorded(
    "s3",
    new S3Client({
      ...clientOptions(server.endpoint),
      forcePathStyle: true,
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
    }),
  );
  return {
    name,
    faults,
    client,
    settings,
    objects: objects as ReadonlyMap<string, Stored>,
    /** Writes an object, as an operator would. */
    edit: (key: string, text: string) => put(key, Buffer.from(text), {}),
    readObject: (bucket: string, key: string): Uint8Array | undefined =>
      bucket === name ? objects.get(key)?.bytes : undefined,
    close: async () => {
      client.destroy();
      await server.close();
    },
  };
};
