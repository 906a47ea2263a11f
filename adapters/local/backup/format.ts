/**
 * The format of a backup: a tar file, compressed with gzip, that every tar program can list.
 *
 * - The first entry, `portside-backup.json`, contains the version of the format and the origin of the backup.
 * - The next entries are those of the data folder, below `data/`. The entry of a folder precedes the entries of its
 *   content.
 * - The last entry, `portside-backup-end.json`, contains counts and the SHA-256 digest of all bytes before this entry.
 *
 * Each entry has a pax header that contains its path, size, owner and time. Names are bytes, because tenant code may
 * choose names that are not UTF-8. In this code, each character of a path is one byte (Latin-1).
 */
import { z } from "zod";

export const FORMAT = 1;
export const BLOCK = 512;

export const HEAD = "portside-backup.json";
export const END = "portside-backup-end.json";
/** The folder in the tar file that contains the entries of the data folder. */
export const DATA = "data";

export const headSchema = z.object({
  format: z.literal(FORMAT),
  created_at: z.string(),
  /** The path of the data folder. Image manifests and Python virtual environments contain this path. */
  data_dir: z.string(),
  /** The uid of the data folder's owner. */
  uid: z.int().min(0),
});
export type BackupHead = z.output<typeof headSchema>;

export const endSchema = z.object({
  sha256: z.string(),
  entries: z.int(),
  deployments: z.int(),
  volumes: z.int(),
  objects: z.int(),
});
export type BackupEnd = z.output<typeof endSchema>;

export interface BackupEntry {
  readonly path: string;
  readonly type: "file" | "folder" | "link";
  /** Bytes of content; 0 for folders and links. */
  readonly size: number;
  /** The permission bits. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Milliseconds since 1970, as an integer. */
  readonly modified: number;
  /** The target of a link; empty for files and folders. */
  readonly target: string;
}

const TYPES = { file: "0", link: "2", folder: "5" } as const;
/** The maximum size of a pax header's records in bytes. Deeply nested folders have long paths. */
const EXTENDED_BYTES = 1 << 20;
const LARGEST_OCTAL = 0o77777777777;
const LARGEST_ID = 0o7777777;
const LATEST_SECOND = 9_999_999_999;

const octal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, "0")}\0`;

/** Returns the number of bytes that pad content of this size to whole blocks. */
export const paddingOf = (bytes: number): number => (BLOCK - (bytes % BLOCK)) % BLOCK;

const sizeField = (size: number): Buffer => {
  if (size <= LARGEST_OCTAL) return Buffer.from(octal(size, 11));
  // GNU tar's encoding of large numbers.
  const field = Buffer.alloc(12);
  field[0] = 0x80;
  field.writeBigUInt64BE(BigInt(size), 4);
  return field;
};

const block = (type: string, name: string, size: number, { mode, uid, gid, modified, target }: BackupEntry): Buffer => {
  const bytes = Buffer.alloc(BLOCK);
  const seconds = Math.floor(modified / 1000);
  bytes.write(name.slice(0, 100), 0, "latin1");
  bytes.write(octal(mode, 7), 100, "latin1");
  bytes.write(octal(Math.min(uid, LARGEST_ID), 7), 108, "latin1");
  bytes.write(octal(Math.min(gid, LARGEST_ID), 7), 116, "latin1");
  sizeField(size).copy(bytes, 124);
  bytes.write(octal(seconds, 11), 136, "latin1");
  bytes.write(" ".repeat(8), 148, "latin1");
  bytes.write(type, 156, "latin1");
  bytes.write(target.slice(0, 100), 157, "latin1");
  bytes.write("ustar\x0000", 257, "latin1");
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  bytes.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return bytes;
};

/** Encodes a pax record. The record starts with its total length, which includes the digits of the length. */
const record = (key: string, value: string): string => {
  const rest = ` ${key}=${value}\n`;
  const digits = String(rest.length + String(rest.length).length).length;
  return `${rest.length + digits}${rest}`;
};

const namedPath = ({ path, type }: BackupEntry): string => (type === "folder" ? `${path}/` : path);

/** Encodes the pax header and the tar header of an entry, in whole blocks. */
export const encodeEntry = (entry: BackupEntry): Buffer => {
  const { type, size, uid, gid, modified, target } = entry;
  const [seconds, millis] = [Math.floor(modified / 1000), modified % 1000];
  const records = [
    record("path", namedPath(entry)),
    ...(type === "link" ? [record("linkpath", target)] : []),
    record("size", String(size)),
    record("uid", String(uid)),
    record("gid", String(gid)),
    record("mtime", `${seconds}.${String(millis).padStart(3, "0")}`),
  ].join("");
  const extended = { ...entry, mode: 0o600, target: "" };
  return Buffer.concat([
    block("x", "PaxHeader", records.length, extended),
    Buffer.from(records, "latin1"),
    Buffer.alloc(paddingOf(records.length)),
    block(TYPES[type], namedPath(entry), size, entry),
  ]);
};

/** Clamps a time to the range of the format, because tenant code can set any modification time. */
export const modifiedOf = (millis: number): number =>
  Math.min(Math.max(Math.floor(millis), 0), LATEST_SECOND * 1000) || 0;

/** Returns the size of a pax header's records in bytes; undefined if the block is not a pax header. */
export const extendedBytes = (header: Buffer): number | undefined => {
  const digits = header.toString("latin1", 124, 135);
  const bytes = /^[0-7]{11}$/.test(digits) ? Number.parseInt(digits, 8) : undefined;
  const isExtended = header[156] === "x".charCodeAt(0) && bytes !== undefined && bytes <= EXTENDED_BYTES;
  return isExtended ? bytes : undefined;
};

const recordsOf = (text: string): Map<string, string> => {
  const records = new Map<string, string>();
  for (let at = 0; at < text.length; ) {
    const length = Number(/^\d{1,7} /.exec(text.slice(at, at + 8))?.[0]);
    if (!(length > 0)) break;
    const [, key = "", value = ""] = /^\d+ ([a-z]+)=(.*)\n$/s.exec(text.slice(at, at + length)) ?? [];
    records.set(key, value);
    at += length;
  }
  return records;
};

/** Returns false for a path that leads out of its folder or is not normalized. */
const isPlainPath = (path: string): boolean =>
  !path.includes("\0") && path.split("/").every((part) => part !== "" && part !== "." && part !== "..");

const numberIn = (text: string | undefined): number => {
  const value = Number(text);
  return Number.isSafeInteger(value) && value >= 0 ? value : -1;
};

/**
 * Decodes the output of `encodeEntry`. Returns undefined for any other bytes.
 * @param header the block of the pax header, its records, and the block of the tar header
 */
export const decodeEntry = (header: Buffer): BackupEntry | undefined => {
  const bytes = extendedBytes(header) ?? 0;
  const records = recordsOf(header.toString("latin1", BLOCK, BLOCK + bytes));
  const own = header.subarray(header.length - BLOCK);
  const letter = String.fromCharCode(own[156] ?? 0);
  const type = (Object.keys(TYPES) as (keyof typeof TYPES)[]).find((name) => TYPES[name] === letter);
  if (type === undefined) return undefined;
  const [, seconds, millis] = /^(\d+)\.(\d{3})$/.exec(records.get("mtime") ?? "") ?? [];
  const entry: BackupEntry = {
    path: (records.get("path") ?? "").replace(type === "folder" ? /\/$/ : /$^/, ""),
    type,
    size: numberIn(records.get("size")),
    mode: Number.parseInt(own.toString("latin1", 100, 107), 8) & 0o777,
    uid: numberIn(records.get("uid")),
    gid: numberIn(records.get("gid")),
    modified: numberIn(seconds) * 1000 + numberIn(millis),
    target: records.get("linkpath") ?? "",
  };
  const isSane = entry.size >= 0 && entry.uid >= 0 && entry.gid >= 0 && modifiedOf(entry.modified) === entry.modified;
  const hasContent = entry.size === 0 || type === "file";
  if (!isSane || !hasContent || !isPlainPath(entry.path)) return undefined;
  return encodeEntry(entry).equals(header) ? entry : undefined;
};
