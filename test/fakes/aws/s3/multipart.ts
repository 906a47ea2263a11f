/** Multipart uploads: https://docs.aws.amazon.com/AmazonS3/latest/userguide/mpuoverview.html, .../qfacts.html. */
import { randomBytes } from "node:crypto";
import type { AwsReply } from "../server.ts";
import { childrenOf, parseXml, textOf } from "../xml.ts";
import { checkIntegrity, checkWriteConditions, type ObjectCall } from "./conditions.ts";
import { failure, xmlReply } from "./failure.ts";
import { md5, type Upload } from "./world.ts";

const PARTS_MAX = 10_000;
const PAGE_MAX = 1000;

const uploadOf = ({ request, bucket, key }: ObjectCall): readonly [string, Upload] => {
  const id = request.query.get("uploadId") ?? "";
  const upload = bucket.uploads.get(id);
  if (upload === undefined || upload.key !== key)
    throw failure(404, "NoSuchUpload", "The specified multipart upload does not exist.");
  return [id, upload];
};

export const createUpload = ({ world, bucket, key }: ObjectCall): AwsReply => {
  const id = randomBytes(12).toString("hex");
  bucket.uploads.set(id, { key, at: world.now(), parts: new Map() });
  return xmlReply("InitiateMultipartUploadResult", { Bucket: bucket.name, Key: key, UploadId: id });
};

export const uploadPart = (call: ObjectCall): AwsReply => {
  const [, upload] = uploadOf(call);
  const number = Number(call.request.query.get("partNumber"));
  if (!(Number.isInteger(number) && number >= 1 && number <= PARTS_MAX))
    throw failure(400, "InvalidArgument", "Part number must be an integer between 1 and 10000, inclusive");
  checkIntegrity(call.request);
  const bytes = call.request.body;
  const etag = `"${md5(bytes).toString("hex")}"`;
  upload.parts.set(number, { bytes, etag });
  return { status: 200, headers: { etag } };
};

/** API_CompleteMultipartUpload.html: the parts in order, each with its number and the ETag from its upload. */
export const completeUpload = (call: ObjectCall): AwsReply => {
  const { world, request, bucket, key } = call;
  const [id, upload] = uploadOf(call);
  const listed = childrenOf(parseXml(request.body.toString()), "Part").map((part) => ({
    number: Number(textOf(part, "PartNumber")),
    etag: textOf(part, "ETag") ?? "",
  }));
  if (listed.length === 0) throw failure(400, "MalformedXML", "There are no parts");
  if (listed.some(({ number }, index) => number <= (listed[index - 1]?.number ?? 0)))
    throw failure(400, "InvalidPartOrder", "The list of parts was not in ascending order.");
  const parts = listed.map(({ number, etag }) => {
    const part = upload.parts.get(number);
    if (part === undefined || part.etag.replaceAll('"', "") !== etag.replaceAll('"', ""))
      throw failure(400, "InvalidPart", "One or more of the specified parts could not be found.");
    return part;
  });
  if (parts.slice(0, -1).some(({ bytes }) => bytes.length < world.partMin))
    throw failure(400, "EntityTooSmall", "Your proposed upload is smaller than the minimum allowed size");
  checkWriteConditions(call);
  const etag = `"${md5(Buffer.concat(parts.map(({ bytes }) => md5(bytes)))).toString("hex")}-${parts.length}"`;
  world.putObject(bucket, { name: key, bytes: Buffer.concat(parts.map(({ bytes }) => bytes)), etag });
  bucket.uploads.delete(id);
  return xmlReply("CompleteMultipartUploadResult", { Bucket: bucket.name, Key: key, ETag: etag });
};

/** API_ListParts.html: up to 1,000 parts by number, after the marker. */
export const listParts = (call: ObjectCall): AwsReply => {
  const [id, upload] = uploadOf(call);
  const { query } = call.request;
  const after = Number(query.get("part-number-marker") ?? 0);
  const max = Math.min(PAGE_MAX, Number(query.get("max-parts") ?? PAGE_MAX));
  const rest = [...upload.parts].filter(([number]) => number > after).sort(([a], [b]) => a - b);
  const page = rest.slice(0, max);
  return xmlReply("ListPartsResult", {
    Bucket: call.bucket.name,
    Key: call.key,
    UploadId: id,
    PartNumberMarker: after,
    NextPartNumberMarker: page.at(-1)?.[0] ?? 0,
    MaxParts: max,
    IsTruncated: rest.length > page.length,
    Part: page.map(([number, { bytes, etag }]) => ({ PartNumber: number, ETag: etag, Size: bytes.length })),
  });
};

/**
 * API_ListMultipartUploads.html: up to 1,000 incomplete uploads of the bucket. The fake returns only the first page.
 */
export const listUploads = ({ request, bucket }: ObjectCall): AwsReply => {
  const max = Math.min(PAGE_MAX, Number(request.query.get("max-uploads") ?? PAGE_MAX));
  const page = [...bucket.uploads].slice(0, max);
  return xmlReply("ListMultipartUploadsResult", {
    Bucket: bucket.name,
    MaxUploads: max,
    EncodingType: "url",
    IsTruncated: bucket.uploads.size > page.length,
    Upload: page.map(([id, { key }]) => ({ UploadId: id, Key: encodeURIComponent(key) })),
  });
};

export const abortUpload = (call: ObjectCall): AwsReply => {
  const [id] = uploadOf(call);
  call.bucket.uploads.delete(id);
  return { status: 204 };
};
