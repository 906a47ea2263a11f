/**
 * The fake's XML API for signed URLs: https://cloud.google.com/storage/docs/xml-api/get-object-download and
 * .../put-object-upload.
 */

import type { RestError } from "../rest-server.ts";
import { download } from "./download.ts";
import { failure, type Reply, type XmlCall } from "./failure.ts";
import { answerMultipart } from "./multipart.ts";
import { md5, type ObjectVersion, type StorageWorld } from "./world.ts";

/** https://cloud.google.com/storage/docs/xml-api/reference-status */
export const xmlFailure = ({ status, reason, message }: RestError): Reply => ({
  status,
  headers: { "content-type": "application/xml; charset=UTF-8" },
  body: `<?xml version='1.0' encoding='UTF-8'?><Error><Code>${reason}</Code><Message>${message}</Message></Error>`,
});

/** .../docs/hashes-etags: the MD5 of the bytes, for objects uploaded whole */
const etagOf = ({ bytes }: Pick<ObjectVersion, "bytes">): string => `"${md5(bytes, "hex")}"`;

const names = (header: string | undefined, etag: string): boolean =>
  header !== undefined && (header === "*" || header.split(",").some((one) => one.trim() === etag));

/** .../docs/request-preconditions: both apply only to requests that retrieve data. */
const failedPrecondition = (headers: XmlCall["headers"], etag: string): Reply | undefined => {
  const { "if-match": only, "if-none-match": other } = headers;
  if (only !== undefined && !names(only, etag)) throw failure(412, "PreconditionFailed", "If-Match does not hold.");
  return names(other, etag) ? { status: 304, headers: { etag } } : undefined;
};

const retrieve = (call: XmlCall, object: ObjectVersion): Reply => {
  const etag = etagOf(object);
  const same = failedPrecondition(call.headers, etag);
  if (same !== undefined) return same;
  const headers = {
    etag,
    // .../docs/xml-api/reference-headers#responsecontenttype
    "content-type": call.query.get("response-content-type") ?? object.contentType,
    "last-modified": new Date(object.created).toUTCString(),
    "accept-ranges": "bytes",
  };
  return download(object, { range: call.headers["range"], refusal: "InvalidRange", headers });
};

const upload = (world: StorageWorld, { bucket: name, object, headers, body }: XmlCall): Reply => {
  const bucket = world.bucket(name);
  const range = headers["x-goog-content-length-range"]?.split(",").map(Number);
  if (range !== undefined && (body.length < (range[0] ?? 0) || body.length > (range[1] ?? Infinity)))
    throw failure(400, "EntityTooLarge", "The upload is out of x-goog-content-length-range.");
  const wanted = headers["x-goog-if-generation-match"];
  if (wanted !== undefined && wanted !== String(bucket.objects.get(object)?.generation ?? 0))
    throw failure(412, "PreconditionFailed", "x-goog-if-generation-match does not hold.");
  const contentType = headers["content-type"];
  const made = world.putObject(bucket, {
    name: object,
    bytes: body,
    ...(contentType === undefined ? {} : { contentType }),
  });
  return { status: 200, headers: { etag: etagOf(made), "x-goog-generation": String(made.generation) } };
};

/** The method's name for counts and faults. */
export const xmlMethod = (verb: string): string =>
  ({ GET: "storage.xml.get", HEAD: "storage.xml.get", OPTIONS: "storage.xml.preflight", PUT: "storage.xml.put" })[
    verb
  ] ?? "storage.xml.other";

export const answerXml = (world: StorageWorld, call: XmlCall): Reply => {
  const parted = answerMultipart(world, call);
  if (parted !== undefined) return parted;
  if (call.verb === "PUT") return upload(world, call);
  if (call.verb !== "GET" && call.verb !== "HEAD") throw failure(405, "MethodNotAllowed", "Use GET, HEAD or PUT.");
  const found = world.bucket(call.bucket).objects.get(call.object);
  if (found === undefined) throw failure(404, "NoSuchKey", "The specified key does not exist.");
  return retrieve(call, found);
};
