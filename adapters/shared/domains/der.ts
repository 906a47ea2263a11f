/**
 * Encodes and reads DER (ITU-T X.690), as far as certificates need it.
 *
 * Certificates need about ten types. A library that creates certificates installs fifteen packages, mostly for types
 * that Portside does not use.
 */

/** The tags of X.690, section 8.1.2, with the constructed bit for sequences and sets. */
export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

const lengthOf = (size: number): Uint8Array => {
  if (size < 0x80) return Uint8Array.of(size);
  const bytes: number[] = [];
  for (let rest = size; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Uint8Array.of(0x80 | bytes.length, ...bytes);
};

/** Encodes a value of any tag from its contents. */
export const encode = (tag: number, ...contents: readonly Uint8Array[]): Buffer => {
  const content = Buffer.concat(contents);
  return Buffer.concat([Uint8Array.of(tag), lengthOf(content.length), content]);
};

export const sequence = (...items: readonly Uint8Array[]): Buffer => encode(tags.sequence, ...items);
export const octetString = (content: Uint8Array): Buffer => encode(tags.octetString, content);

/** Encodes a constructed value with a context-specific tag, such as `[0]`. */
export const tagged = (number: number, ...items: readonly Uint8Array[]): Buffer => encode(0xa0 | number, ...items);

/** Encodes a primitive value with an implicit context-specific tag. */
export const implicit = (number: number, content: Uint8Array): Buffer => encode(0x80 | number, content);

export const boolean = (value: boolean): Buffer => encode(tags.boolean, Uint8Array.of(value ? 0xff : 0));

/** Encodes an unsigned number from its big-endian bytes. */
export const integer = (bytes: Uint8Array): Buffer => {
  const first = bytes.findIndex((byte) => byte !== 0);
  const short = first === -1 ? Uint8Array.of(0) : bytes.subarray(first);
  return encode(tags.integer, Uint8Array.of(...((short[0] as number) >= 0x80 ? [0] : [])), short);
};

/** Encodes whole bytes as a bit string. */
export const bitString = (bytes: Uint8Array): Buffer => encode(tags.bitString, Uint8Array.of(0), bytes);

const base128 = (value: number): number[] => {
  const bytes = [value % 128];
  for (let rest = Math.floor(value / 128); rest > 0; rest = Math.floor(rest / 128)) bytes.unshift(0x80 | (rest % 128));
  return bytes;
};

/** Encodes an object identifier from its dotted form. */
export const objectIdentifier = (dotted: string): Buffer => {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return encode(tags.objectIdentifier, Uint8Array.from([first * 40 + second, ...rest].flatMap(base128)));
};

/** Encodes a time with whole seconds. RFC 5280, section 4.1.2.5, selects the type by the year. */
export const time = (millis: number): Buffer => {
  const text = `${new Date(millis).toISOString().slice(0, 19).replaceAll(/[-T:]/g, "")}Z`;
  return text < "2050"
    ? encode(tags.utcTime, Buffer.from(text.slice(2)))
    : encode(tags.generalizedTime, Buffer.from(text));
};

/** A value that was read: its tag, its contents, and its complete encoding. */
export interface DerValue {
  readonly tag: number;
  readonly content: Buffer;
  readonly encoding: Buffer;
}

/** Reads the value at the start of the bytes. Returns undefined if they are incomplete or use a form that DER forbids. */
const readFirst = (bytes: Buffer): DerValue | undefined => {
  const [tag, first] = bytes;
  if (tag === undefined || first === undefined || (tag & 0x1f) === 0x1f) return undefined;
  const digits = first < 0x80 ? 0 : first & 0x7f;
  if (first === 0x80 || digits > 4 || bytes.length < 2 + digits) return undefined;
  const start = 2 + digits;
  const size = digits === 0 ? first : bytes.readUIntBE(2, digits);
  if (bytes.length < start + size) return undefined;
  return { tag, content: bytes.subarray(start, start + size), encoding: bytes.subarray(0, start + size) };
};

/** Reads consecutive values, such as the contents of a sequence. Returns undefined if one of them is malformed. */
export const readAll = (bytes: Buffer): readonly DerValue[] | undefined => {
  const values: DerValue[] = [];
  for (let rest = bytes; rest.length > 0; ) {
    const value = readFirst(rest);
    if (value === undefined) return undefined;
    values.push(value);
    rest = rest.subarray(value.encoding.length);
  }
  return values;
};
