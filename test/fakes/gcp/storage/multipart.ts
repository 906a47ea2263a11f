/**
 * The fake's uploads in parts: https://cloud.google.com/storage/docs/xml-api/post-object-multipart,
 * .../put-object-multipart, .../get-object-multipart, .../post-object-complete and .../delete-multipart.
 */
import { randomBytes } from "node:crypto";
import { failure, type Reply, type XmlCall } from "./failure.ts";
import { type MultipartUpload, md5, type StorageWorld } from "./world.ts";

const PARTS_MAX = 10_000;
const PAGE_MAX = 1000;
/** The format of this fake's ids. Cloud Storage does not document its own. */
const UPLOAD_ID = /^[\w-]{32}$/;

const xmlReply = (body: string): Reply => ({
  status: 200,
  headers: { "content-type": "application/xml; charset=UTF-8" },
  body: `<?xml version='1.0' encoding='UTF-8'?>${body}`,
});

const element = (name: string, content: string | number | boolean): string => `<${name}>${content}</${name}>`;

const uploadOf = (world: StorageWorld, { bucket: name, object, query }: XmlCall) => {
  const bucket = world.bucket(name);
  const id = query.get("uploadId") ?? "";
  // https://cloud.google.com/storage/docs/xml-api/reference-status#400%E2%80%94bad-request (InvalidArgument)
  if (!UPLOAD_ID.test(id)) throw failure(400, "InvalidArgument", "Invalid argument.");
  const upload = bucket.uploads.get(id);
  if (upload === undefined || upload.object !== object)
    throw failure(404, "NoSuchUpload", "The requested upload was not found.");
  return { bucket, id, upload };
};

const begin = (world: StorageWorld, { bucket: name, object }: XmlCall): Reply => {
  const bucket = world.bucket(name);
  const id = randomBytes(24).toString("base64url");
  bucket.uploads.set(id, { object, at: world.now(), parts: new Map() });
  const content = element("Bucket", name) + element("UploadId", id);
  return xmlReply(element("InitiateMultipartUploadResult", content));
};

const putPart = (world: StorageWorld, call: XmlCall): Reply => {
  const { upload } = uploadOf(world, call);
  const number = Number(call.query.get("partNumber"));
  if (!(Number.isInteger(number) && number >= 1 && number <= PARTS_MAX))
    throw failure(400, "InvalidArgument", "partNumber is from 1 to 10000.");
  const etag = `"${md5(call.body, "hex")}"`;
  upload.parts.set(number, { bytes: call.body, etag });
  return { status: 200, headers: { etag } };
};

const list = (world: StorageWorld, call: XmlCall): Reply => {
  const { id, upload } = uploadOf(world, call);
  const after = Number(call.query.get("part-number-marker") ?? 0);
  const rest = [...upload.parts].filter(([number]) => number > after).sort(([a], [b]) => a - b);
  const page = rest.slice(0, PAGE_MAX);
  const parts = page.map(([number, { bytes, etag }]) => {
    const tag = etag.replaceAll('"', "&quot;");
    return element("Part", element("PartNumber", number) + element("ETag", tag) + element("Size", bytes.length));
  });
  const head =
    element("UploadId", id) +
    element("PartNumberMarker", after) +
    element("NextPartNumberMarker", page.at(-1)?.[0] ?? 0) +
    element("IsTruncated", rest.length > page.length);
  return xmlReply(element("ListPartsResult", head + parts.join("")));
};

/** .../docs/xml-api/get-bucket-uploads: up to 1,000 incomplete uploads. The fake returns only the first page. */
const listUploads = (world: StorageWorld, { bucket: name, query }: XmlCall): Reply => {
  const { uploads } = world.bucket(name);
  const page = [...uploads].slice(0, Math.min(PAGE_MAX, Number(query.get("max-uploads") ?? PAGE_MAX)));
  const listed = page.map(([id, { object }]) =>
    element("Upload", element("Key", encodeURIComponent(object)) + element("UploadId", id)),
  );
  const head = element("Bucket", name) + element("IsTruncated", uploads.size > page.length);
  return xmlReply(element("ListMultipartUploadsResult", head + listed.join("")));
};

const fieldOf = (xml: string, name: string): string => new RegExp(`<${name}>([^<]*)<`).exec(xml)?.[1] ?? "";

const partsIn = ({ body }: XmlCall, { parts }: MultipartUpload) => {
  const listed = [...body.toString().matchAll(/<Part>(.*?)<\/Part>/gs)].map(([, one = ""]) => ({
    number: Number(fieldOf(one, "PartNumber")),
    tag: fieldOf(one, "ETag").replaceAll(/&quot;|"/g, ""),
  }));
  if (listed.length === 0) throw failure(400, "MalformedCompleteMultipartUploadRequest", "There are no parts.");
  if (listed.some(({ number }, at) => number <= (listed[at - 1]?.number ?? 0)))
    throw failure(400, "InvalidPartOrder", "The parts are not in ascending order.");
  return listed.map(({ number, tag }) => {
    const part = parts.get(number);
    if (part === undefined || part.etag !== `"${tag}"`) throw failure(400, "InvalidPart", `Part ${number} differs.`);
    return part.bytes;
  });
};

const complete = (world: StorageWorld, call: XmlCall): Reply => {
  const { bucket, id, upload } = uploadOf(world, call);
  const pieces = partsIn(call, upload);
  if (pieces.slice(0, -1).some(({ length }) => length < world.partMin))
    throw failure(400, "EntityTooSmall", "A part before the last one is too small.");
  const made = world.putObject(bucket, { name: upload.object, bytes: Buffer.concat(pieces) });
  bucket.uploads.delete(id);
  const etag = element("ETag", `&quot;${made.generation}&quot;`);
  return xmlReply(element("CompleteMultipartUploadResult", element("Bucket", call.bucket) + etag));
};

/** Undefined: the request does not concern an upload in parts. */
export const answerMultipart = (world: StorageWorld, call: XmlCall): Reply | undefined => {
  const { verb, query } = call;
  if (verb === "POST" && query.has("uploads")) return begin(world, call);
  if (verb === "GET" && query.has("uploads")) return listUploads(world, call);
  if (!query.has("uploadId")) return undefined;
  if (verb === "PUT") return putPart(world, call);
  if (verb === "GET") return list(world, call);
  return verb === "POST" ? complete(world, call) : undefined;
};
