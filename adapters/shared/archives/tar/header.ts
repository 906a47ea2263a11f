/**
 * A tar header of 512 bytes. Tar programs differ in how they read damaged or contradictory headers. This reader accepts
 * only what GNU tar, Go's archive/tar and Python's tarfile read in the same way, and reports a flaw in anything else.
 * https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html#tag_20_94_13_06
 */
import { isUtf8 } from "node:buffer";

export const BLOCK = 512;

export interface TarHeader {
  readonly path: string;
  /** One character. In old archives, it is `\0` for both files and folders. */
  readonly type: string;
  /** Undefined if the field is not a number. */
  readonly size: number | undefined;
  readonly executable: boolean;
  readonly hasLink: boolean;
  readonly flaw: string | undefined;
}

const USTAR_00 = "ustar\0" + "00";
const USTAR = "ustar\0";

/** Returns the bytes before the first NUL. */
export const beforeNul = (field: Buffer): Buffer => {
  const end = field.indexOf(0);
  return end === -1 ? field : field.subarray(0, end);
};

const textAt = (block: Buffer, at: number, bytes: number): Buffer => beforeNul(block.subarray(at, at + bytes));

/** Reads GNU's encoding of large numbers: the first bit is set and the rest is binary. Rejects negative numbers. */
const binaryAt = (field: Buffer): number | undefined => {
  if (field[0] !== 0x80) return undefined;
  const value = field.subarray(1).reduce((total, byte) => total * 256 + byte, 0);
  return Number.isSafeInteger(value) ? value : Number.POSITIVE_INFINITY;
};

/** Reads a number. Returns undefined if the field is not a number, and `empty` if it is empty. */
const numberAt = (block: Buffer, at: number, bytes: number, empty?: number): number | undefined => {
  const field = block.subarray(at, at + bytes);
  if (((field[0] ?? 0) & 0x80) !== 0) return binaryAt(field);
  const digits = textAt(block, at, bytes).toString("latin1").trim();
  if (digits === "") return field.every((byte) => byte === 0 || byte === 0x20) ? empty : undefined;
  return /^[0-7]+$/.test(digits) ? Number.parseInt(digits, 8) : undefined;
};

const sumOf = (block: Buffer): number => {
  let sum = 8 * 0x20;
  for (let at = 0; at < 148; at++) sum += block[at] as number;
  for (let at = 156; at < BLOCK; at++) sum += block[at] as number;
  return sum;
};

/** Offsets and lengths of the fields for mode, owner, group and time. */
const OTHER_NUMBERS = [
  [100, 8],
  [108, 8],
  [116, 8],
  [136, 12],
] as const;
const DEVICE_NUMBERS = [
  [329, 8],
  [337, 8],
] as const;

const flawOf = (block: Buffer, isUstar: boolean, prefix: Buffer): string | undefined => {
  const magic = block.toString("latin1", 257, 263);
  if (magic === USTAR && !isUstar && prefix.length > 0) return "has a header of an unknown version";
  const numbers = magic.startsWith("ustar") ? [...OTHER_NUMBERS, ...DEVICE_NUMBERS] : OTHER_NUMBERS;
  return numbers.some(([at, bytes]) => !Number.isFinite(numberAt(block, at, bytes, 0)) && !isOldTime(block, at))
    ? "has a header with a malformed number"
    : undefined;
};

/** A time before 1970 is a negative number, which is valid here. */
const isOldTime = (block: Buffer, at: number): boolean => at === 136 && block[at] === 0xff;

/** Parses a header. Returns undefined if the bytes are not a header. */
export const readHeader = (block: Buffer): TarHeader | undefined => {
  if (numberAt(block, 148, 8) !== sumOf(block)) return undefined;
  const isUstar = block.toString("latin1", 257, 265) === USTAR_00;
  const name = textAt(block, 0, 100);
  const prefix = textAt(block, 345, 155);
  const path = isUstar && prefix.length > 0 ? Buffer.concat([prefix, Buffer.from("/"), name]) : name;
  return {
    path: path.toString("utf8"),
    type: String.fromCharCode(block[156] as number),
    size: numberAt(block, 124, 12),
    executable: ((numberAt(block, 100, 8, 0) ?? 0) & 0o111) !== 0,
    hasLink: textAt(block, 157, 100).length > 0,
    flaw: flawOf(block, isUstar, prefix) ?? (isUtf8(path) ? undefined : NOT_UTF8),
  };
};

export const NOT_UTF8 = "has a path that is not UTF-8";
