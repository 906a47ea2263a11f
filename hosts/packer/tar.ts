/**
 * Writes tar archives in the POSIX format (pax). Headers contain only the path, the mode and the size, so that the same
 * files produce the same bytes.
 * https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html
 */

export const BLOCK = 512;
const NAME_BYTES = 100;
const CHECKSUM_AT = 148;

export interface TarEntry {
  readonly path: string;
  readonly mode: number;
  /** Bytes. */
  readonly size: number;
}

const encoder = new TextEncoder();

/** Writes a number as octal digits and a NUL. */
const octal = (value: number, length: number): string => `${value.toString(8).padStart(length - 1, "0")}\0`;

const block = ({ path, mode, size }: TarEntry, type: "0" | "x"): Uint8Array<ArrayBuffer> => {
  const bytes = new Uint8Array(BLOCK);
  const put = (at: number, text: string) => bytes.set(encoder.encode(text), at);
  bytes.set(encoder.encode(path).subarray(0, NAME_BYTES));
  put(NAME_BYTES, octal(mode, 8));
  put(108, octal(0, 8)); // uid
  put(116, octal(0, 8)); // gid
  put(124, octal(size, 12));
  put(136, octal(0, 12)); // mtime
  put(CHECKSUM_AT, " ".repeat(8));
  put(156, type);
  put(257, "ustar\x0000");
  const sum = bytes.reduce((total, byte) => total + byte, 0);
  put(CHECKSUM_AT, `${octal(sum, 7)} `);
  return bytes;
};

/** Returns the number of zero bytes that pad content of this size to whole blocks. */
export const paddingOf = (size: number): number => (BLOCK - (size % BLOCK)) % BLOCK;

const padded = (content: Uint8Array): Uint8Array => {
  const bytes = new Uint8Array(content.length + paddingOf(content.length));
  bytes.set(content);
  return bytes;
};

/** Returns a pax record, which begins with its own length in bytes. */
const paxRecord = (name: string, value: string): Uint8Array => {
  const rest = encoder.encode(` ${name}=${value}\n`).length;
  let length = rest + String(rest).length;
  while (String(length).length + rest !== length) length = rest + String(length).length;
  return encoder.encode(`${length} ${name}=${value}\n`);
};

// biome-ignore lint/suspicious/noControlCharactersInRegex: matches text outside ASCII
const isPlain = (path: string): boolean => path.length <= NAME_BYTES && /^[\x00-\x7f]*$/.test(path);

/** Returns the header blocks of a file. A pax header has the path if the path is long or not ASCII. */
export const tarHeader = (entry: TarEntry): readonly Uint8Array[] => {
  if (isPlain(entry.path)) return [block(entry, "0")];
  const record = paxRecord("path", entry.path);
  return [block({ path: "PaxHeader", mode: 0o644, size: record.length }, "x"), padded(record), block(entry, "0")];
};

/** The blocks that end an archive. */
export const tarEnd = (): Uint8Array => new Uint8Array(2 * BLOCK);
