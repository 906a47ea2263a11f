/**
 * URLs that permit one method on one object, or on one upload in parts, until they expire. They are signed with an HMAC
 * (RFC 2104) and a key of the storage.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { type ObjectPath, parseObjectPath } from "../../../core/domain/volumes/object-path.ts";
import { type Instant, instantOfMillis, millisOf } from "../../../core/domain/wire/instant.ts";
import type { Grant } from "../../../core/ports/volume-store.ts";

/** The path prefix of storage URLs. Services cannot use it. */
export const STORAGE_PATH = "/_portside/storage/";

export type StorageMethod = "GET" | "POST" | "PUT";

/** The permitted part of an upload in parts. */
export interface UploadRight {
  readonly upload: string;
  /** The number of the part; 0 for the completion of the upload. */
  readonly part: number;
  /** The length of the part, or of the whole object, in bytes. */
  readonly length: number;
}

interface Right {
  readonly method: StorageMethod;
  readonly bucket: string;
  readonly path: ObjectPath;
  /** The expiry in whole seconds since 1970. */
  readonly expires: number;
  /** The parameters of an upload in parts. */
  readonly params: URLSearchParams;
}

const UPLOAD_PARAMS = ["upload", "part", "length"];

// The lines cannot contain line breaks, because `URLSearchParams` escapes them.
const signatureOf = (key: string, { method, bucket, path, expires, params }: Right): string => {
  const lines = [method, bucket, path, expires, ...(params.size === 0 ? [] : [params])];
  return createHmac("sha256", key).update(lines.join("\n")).digest("hex");
};

/** Returns the parameters of an upload in parts in a fixed order. */
const uploadParams = (query: URLSearchParams): URLSearchParams =>
  new URLSearchParams(
    UPLOAD_PARAMS.flatMap((name): [string, string][] => (query.has(name) ? [[name, query.get(name) ?? ""]] : [])),
  );

/** @param base the base URL of the storage, such as `http://127.0.0.1:8080` */
export const signUrl = (
  key: string,
  base: string,
  right: Pick<Right, "method" | "bucket" | "path">,
  until: Instant,
  upload?: UploadRight,
): Grant => {
  const expires = Math.floor(millisOf(until) / 1000);
  const encoded = right.path.split("/").map(encodeURIComponent).join("/");
  const given = Object.entries(upload ?? {}).map(([name, value]): [string, string] => [name, String(value)]);
  const params = uploadParams(new URLSearchParams(given));
  const signature = signatureOf(key, { ...right, expires, params });
  const query = new URLSearchParams({ expires: String(expires), signature, ...Object.fromEntries(params) });
  return {
    url: `${base}${STORAGE_PATH}${right.bucket}/${encoded}?${query}`,
    expiresAt: instantOfMillis(expires * 1000),
  };
};

export interface StorageTarget {
  readonly bucket: string;
  readonly path: ObjectPath;
  readonly query: URLSearchParams;
}

const decode = (part: string): string | undefined => {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
};

/**
 * Parses a request target. Returns undefined if it does not name an object. Each part is decoded once and must not
 * contain `/` afterwards.
 */
export const readTarget = (target: string): StorageTarget | undefined => {
  if (!target.startsWith(STORAGE_PATH)) return undefined;
  const question = target.indexOf("?");
  const end = question < 0 ? target.length : question;
  const [bucket, ...parts] = target.slice(STORAGE_PATH.length, end).split("/").map(decode);
  if (bucket === undefined || !/^[a-z0-9-]{1,64}$/.test(bucket)) return undefined;
  if (parts.some((part) => part === undefined || part.includes("/"))) return undefined;
  const path = parseObjectPath(parts.join("/"));
  return path === undefined ? undefined : { bucket, path, query: new URLSearchParams(target.slice(end + 1)) };
};

const sameText = (a: string, b: string): boolean => {
  const [left, right] = [Buffer.from(a), Buffer.from(b)];
  return left.length === right.length && timingSafeEqual(left, right);
};

/** Returns why the signature does not permit the method now, or undefined if it does. */
export const signatureProblem = (
  key: string,
  method: StorageMethod,
  { bucket, path, query }: StorageTarget,
  now: Instant,
): string | undefined => {
  const written = query.get("expires") ?? "";
  const expires = /^\d{1,12}$/.test(written) ? Number(written) : 0;
  const expected = signatureOf(key, { method, bucket, path, expires, params: uploadParams(query) });
  if (!sameText(expected, query.get("signature") ?? ""))
    return `The URL's signature does not permit ${method} for this object.`;
  return millisOf(now) < expires * 1000 ? undefined : "The URL has expired. Request a new one.";
};

/** Returns what a signed URL permits for an upload in parts; undefined for the URL of a whole object. */
export const readUpload = (query: URLSearchParams): UploadRight | undefined => {
  const upload = query.get("upload");
  return upload === null ? undefined : { upload, part: Number(query.get("part")), length: Number(query.get("length")) };
};
