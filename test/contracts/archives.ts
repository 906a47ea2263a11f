/** Archives as hostile clients make them: https://www.gnu.org/software/tar/manual/html_node/Standard.html */
import { gzipSync } from "node:zlib";

const BLOCK = 512;

export interface ArchivedEntry {
  readonly path: string;
  /** tar's letter: 0 a file, 1 a hard link, 2 a symbolic link, 3 a device, 5 a folder. */
  readonly type?: string;
  readonly link?: string;
  readonly content?: string;
  /** What the header claims, where that is not the content's size. */
  readonly size?: number;
}

const headerOf = ({ path, type = "0", link = "", content = "", size }: ArchivedEntry): Buffer => {
  const header = Buffer.alloc(BLOCK);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  header.write(path, 0, 100);
  header.write(octal(0o644, 7), 100);
  header.write(octal(size ?? Buffer.byteLength(content), 11), 124);
  header.write(octal(0, 11), 136);
  header.write("        ", 148);
  header.write(type, 156);
  header.write(link, 157, 100);
  header.write("ustar\0" + "00", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${octal(sum, 6)} `, 148);
  return header;
};

const padded = (content: string): Buffer => {
  const bytes = Buffer.from(content);
  return Buffer.concat([bytes, Buffer.alloc((BLOCK - (bytes.length % BLOCK)) % BLOCK)]);
};

export const archiveOf = (...entries: readonly ArchivedEntry[]): Uint8Array => {
  const blocks = entries.flatMap((entry) => [headerOf(entry), padded(entry.content ?? "")]);
  return gzipSync(Buffer.concat([...blocks, Buffer.alloc(2 * BLOCK)]));
};
