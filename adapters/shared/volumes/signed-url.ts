/**
 * URLs that permit one method on one object until they expire, signed with an HMAC (RFC 2104) and a key of the
 * storage.
 */
import { createHmac, timingSafeEqual } from "node:crypto";
import { type ObjectPath, parseObjectPath } from "../../../core/domain/volumes/object-path.ts";
import { type Instant, instantOfMillis, millisOf } from "../../../core/domain/wire/instant.ts";
import type { Grant } from "../../../core/ports/volume-store.ts";

/** The path prefix of storage URLs. Services cannot use it. */
export const STORAGE_PATH = "/_portside/storage/";

export type StorageMethod = "GET" | "PUT";

interface Right {
  readonly method: StorageMethod;
  readonly bucket: string;
  readonly path: ObjectPath;
  /** The expiry in whole seconds since 1970. */
  readonly expires: number;
}

// The parts cannot contain line breaks.
const signatureOf = (key: string, { method, bucket, path, expires }: Right): string =>
  createHmac("sha256", key).update([method, bucket, path, expires].join("\n")).digest("hex");

/** @param base the base URL of the storage, such as `http://127.0.0.1:8080` */
export const signUrl = (
  key: string,
  base: string,
  right: Pick<Right, "method" | "bucket" | "path">,
  until: Instant,
): Grant => {
  const expires = Math.floor(millisOf(until) / 1000);
  const encoded = right.path.split("/").map(encodeURIComponent).join("/");
  const signature = signatureOf(key, { ...right, expires });
  return {
    url: `${base}${STORAGE_PATH}${right.bucket}/${encoded}?expires=${expires}&signature=${signature}`,
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
  const expected = signatureOf(key, { method, bucket, path, expires });
  if (!sameText(expected, query.get("signature") ?? ""))
    return `The URL's signature does not permit ${method} for this object.`;
  return millisOf(now) < expires * 1000 ? undefined : "The URL has expired. Request a new one.";
};
