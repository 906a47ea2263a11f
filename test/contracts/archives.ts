/** Builds tar archives as hostile clients do: https://www.gnu.org/software/tar/manual/html_node/Standard.html */
import { gzipSync } from "node:zlib";

const BLOCK = 512;

export interface ArchivedEntry {
  /** Bytes if the path is not valid text. */
  readonly path: string | Uint8Array;
  /**
   * tar's type flag: 0 a file, 1 a hard link, 2 a symbolic link, 3 a device, 5 a folder, S a sparse file. x and g are
   * pax headers for the next entry and for all entries, and L is GNU's header for a long path.
   */
  readonly type?: string;
  readonly link?: string;
  readonly content?: string | Uint8Array;
  /** The size in the header, if it differs from the content's: a number, or all characters of the field. */
  readonly size?: number | string;
}

const headerOf = ({ path, type = "0", link = "", content = "", size }: ArchivedEntry): Buffer => {
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  Buffer.from(path).copy(header, 0, 0, 100);
  header.write(octal(0o644, 7), 100);
  header.write(typeof size === "string" ? size : octal(size ?? Buffer.byteLength(content), 11), 124, 12, "latin1");
  header.write(octal(0, 11), 136);
  header.write("        ", 148);
  header.write(type, 156);
  header.write(link, 157, 100);
  header.write("ustar\0" + "00", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 6)} `, 148);
  return header;
};

const padded = (content: string | Uint8Array): Buffer => {
  const bytes = Buffer.from(content);
  return Buffer.concat([bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)]);
};

/** A pax header for the next entry: https://pubs.opengroup.org/onlinepubs/9799919799/utilities/pax.html */
export const paxOf = (records: Readonly<Record<string, string>>, type: "x" | "g" = "x"): ArchivedEntry => {
  const lines = Object.entries(records).map(([key, value]) => {
    const rest = Buffer.byteLength(` ${key}=${value}\n`);
    const digits = String(rest + String(rest).length).length;
    return `${rest + digits} ${key}=${value}\n`;
  });
  return { path: "PaxHeader", type, content: lines.join("") };
};

export const archiveOf = (...entries: readonly ArchivedEntry[]): Uint8Array => {
  const blocks = entries.flatMap((entry) => [headerOf(entry), padded(entry.content ?? "")]);
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]));
};
