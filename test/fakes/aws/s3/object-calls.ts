/** The fake's object calls. Sources are below https://docs.aws.amazon.com/AmazonS3/latest/API. */
import parseRange from "range-parser";
import type { AwsReply, AwsRequest } from "../server.ts";
import { childOf, childrenOf, parseXml, textOf } from "../xml.ts";
import { checkIntegrity, checkWriteConditions, type ObjectCall } from "./conditions.ts";
import { failure, xmlReply } from "./failure.ts";
import { listObjects, listVersions } from "./listing.ts";
import { abortUpload, completeUpload, createUpload, listParts, listUploads, uploadPart } from "./multipart.ts";
import type { Version } from "./world.ts";

type Act = (call: ObjectCall) => AwsReply;

export interface ObjectMethod {
  readonly method: string;
  /** The action that the bucket's policy must not deny. */
  readonly action: string;
  readonly act: Act;
}

const putObject: Act = (call) => {
  const { world, request, bucket, key } = call;
  // API_PutObject.html: "Content-Length" is required; a body of unknown length gets 411.
  if (request.headers["content-length"] === undefined && request.headers["transfer-encoding"] !== undefined)
    throw failure(411, "MissingContentLength", "You must provide the Content-Length HTTP header.");
  if (request.body.length > world.putMax)
    throw failure(400, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size");
  checkIntegrity(request);
  checkWriteConditions(call);
  const contentType = request.headers["content-type"];
  const made = world.putObject(bucket, {
    name: key,
    bytes: request.body,
    ...(contentType === undefined ? {} : { contentType }),
  });
  return { status: 200, headers: { etag: made.etag, "x-amz-version-id": made.versionId } };
};

/** API_CopyObject.html: a header names the source as `BUCKET/KEY`. */
const copyObject: Act = (call) => {
  const { world, request, bucket, key } = call;
  const [from = "", ...rest] = decodeURIComponent(request.headers["x-amz-copy-source"] ?? "").split("/");
  const object = world.bucket(from).objects.get(rest.join("/"));
  if (object === undefined) throw failure(404, "NoSuchKey", "The specified key does not exist.");
  checkWriteConditions(call);
  const { bytes, contentType } = object;
  const { etag, at } = world.putObject(bucket, { name: key, bytes, contentType });
  return xmlReply("CopyObjectResult", { ETag: etag, LastModified: new Date(at).toISOString() });
};

const names = (header: string | undefined, etag: string): boolean =>
  header !== undefined && (header === "*" || header.split(",").some((one) => one.trim() === etag));

const headersOf = ({ query }: AwsRequest, object: Version) => ({
  etag: object.etag,
  "content-type": query.get("response-content-type") ?? object.contentType,
  "last-modified": new Date(object.at).toUTCString(),
  "accept-ranges": "bytes",
  "x-amz-version-id": object.versionId,
});

const getObject: Act = ({ request, bucket, key }) => {
  const object = bucket.objects.get(key);
  if (object === undefined) throw failure(404, "NoSuchKey", "The specified key does not exist.");
  const { "if-match": only, "if-none-match": other, range } = request.headers;
  if (only !== undefined && !names(only, object.etag))
    throw failure(412, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold");
  const headers = headersOf(request, object);
  if (names(other, object.etag)) return { status: 304, headers: { etag: object.etag } };
  const ranges = range === undefined ? undefined : parseRange(object.bytes.length, range);
  if (ranges === -1) throw failure(416, "InvalidRange", "The requested range is not satisfiable");
  const one = typeof ranges === "object" ? ranges[0] : undefined;
  if (one === undefined)
    return { status: 200, headers: { ...headers, "content-length": object.bytes.length }, body: object.bytes };
  const body = object.bytes.subarray(one.start, one.end + 1);
  const part = {
    "content-range": `bytes ${one.start}-${one.end}/${object.bytes.length}`,
    "content-length": body.length,
  };
  return { status: 206, headers: { ...headers, ...part }, body };
};

/** API_DeleteObject.html: the object need not exist, unless `If-Match` requires it. */
const deleteObject: Act = (call) => {
  const { world, request, bucket, key } = call;
  const versionId = request.query.get("versionId");
  if (versionId !== null) {
    world.removeVersion(bucket, key, versionId);
    return { status: 204 };
  }
  checkWriteConditions(call);
  const { marker } = world.removeObject(bucket, key);
  return { status: 204, ...(marker === undefined ? {} : { headers: { "x-amz-delete-marker": "true" } }) };
};

/** API_DeleteObjects.html: at most 1,000 objects; a checksum is required. */
const deleteObjects: Act = ({ world, request, bucket }) => {
  const { headers } = request;
  if (headers["content-md5"] === undefined && headers["x-amz-checksum-crc32"] === undefined)
    throw failure(400, "InvalidRequest", "Missing required header for this request: Content-MD5");
  checkIntegrity(request);
  const objects = childrenOf(parseXml(request.body.toString()), "Object");
  if (objects.length === 0 || objects.length > 1000) throw failure(400, "MalformedXML", "1 to 1000 objects");
  for (const object of objects) {
    const key = childOf(object, "Key")?.text ?? "";
    const versionId = textOf(object, "VersionId");
    if (versionId === undefined) world.removeObject(bucket, key);
    else world.removeVersion(bucket, key, versionId);
  }
  return xmlReply("DeleteResult", {});
};

const method = (name: string, action: string, act: Act): ObjectMethod => ({
  method: name,
  action: `s3:${action}`,
  act,
});

const aboutBucket = ({ verb, query }: AwsRequest): ObjectMethod | undefined => {
  if (verb === "GET" && query.get("list-type") === "2")
    return method("ListObjectsV2", "ListBucket", ({ bucket }) => listObjects(bucket, query));
  if (verb === "GET" && query.has("versions"))
    return method("ListObjectVersions", "ListBucketVersions", ({ bucket }) => listVersions(bucket, query));
  if (verb === "GET" && query.has("uploads"))
    return method("ListMultipartUploads", "ListBucketMultipartUploads", listUploads);
  if (verb === "POST" && query.has("delete")) return method("DeleteObjects", "DeleteObjectVersion", deleteObjects);
  return undefined;
};

/** Undefined: the call does not exist. */
export const objectCallOf = (request: AwsRequest, key: string): ObjectMethod | undefined => {
  const { verb, query } = request;
  if (key === "") return aboutBucket(request);
  if (query.has("uploads") && verb === "POST") return method("CreateMultipartUpload", "PutObject", createUpload);
  if (query.has("uploadId") && verb === "PUT") return method("UploadPart", "PutObject", uploadPart);
  if (query.has("uploadId") && verb === "POST") return method("CompleteMultipartUpload", "PutObject", completeUpload);
  if (query.has("uploadId") && verb === "GET") return method("ListParts", "ListMultipartUploadParts", listParts);
  if (query.has("uploadId") && verb === "DELETE")
    return method("AbortMultipartUpload", "AbortMultipartUpload", abortUpload);
  if (verb === "PUT" && request.headers["x-amz-copy-source"] !== undefined)
    return method("CopyObject", "PutObject", copyObject);
  if (verb === "PUT") return method("PutObject", "PutObject", putObject);
  if (verb === "GET") return method("GetObject", "GetObject", getObject);
  if (verb === "HEAD") return method("HeadObject", "GetObject", getObject);
  return verb === "DELETE" ? method("DeleteObject", "DeleteObject", deleteObject) : undefined;
};
