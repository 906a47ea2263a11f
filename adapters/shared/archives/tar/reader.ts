/**
 * Reads a tar stream in pieces of any size and reports its entries and their content. The check and the unpacking of a
 * source archive use this class, so a source is unpacked exactly as it was checked. Only `build-context.ts` copies
 * the entries of a checked archive with the library `tar`.
 */
import { isUtf8 } from "node:buffer";
import { MiB } from "../../../../core/domain/accounts/limits.ts";
import type { ArchiveEntry } from "../../../../core/domain/deploy/archive.ts";
import { BLOCK, beforeNul, NOT_UTF8, readHeader, type TarHeader } from "./header.ts";
import { type PaxRecords, readPax } from "./pax.ts";

export interface TarEntry extends ArchiveEntry {
  readonly executable: boolean;
}

export interface TarVisitor {
  entry(entry: TarEntry): void;
  /** Receives the next bytes of the last entry's content. */
  content(bytes: Buffer): void;
}

/** Thrown if the bytes are not a complete tar archive. */
export class TarDamage extends Error {
  readonly isCutOff: boolean;

  constructor(isCutOff: boolean) {
    super(isCutOff ? "the archive is cut off" : "the archive is damaged");
    this.isCutOff = isCutOff;
  }
}

const ZEROS = Buffer.alloc(BLOCK);
/** Maximum bytes of an extended header, which is buffered in memory. No path needs more. */
const EXTENDED_BYTES = 1 * MiB;
/** Types of extended headers: pax for one entry and for all, GNU's long names and long link targets. */
const EXTENDED = "xgLK";

/** The values that extended headers set for the next entry. */
interface Pending {
  readonly kinds: string;
  readonly path?: string | undefined;
  readonly size?: number | undefined;
  readonly flaw?: string | undefined;
}

const nothing: Pending = { kinds: "" };

const typeOf = ({ type }: TarHeader, path: string): ArchiveEntry["type"] => {
  if (type === "5") return "folder";
  // Old archives mark folders only by a trailing slash.
  if (type === "\0") return path.endsWith("/") ? "folder" : "file";
  return type === "0" || type === "7" ? "file" : "other";
};

const longName = (bytes: Buffer): PaxRecords => {
  const path = beforeNul(bytes);
  const isCut = bytes.subarray(path.length).some((byte) => byte !== 0);
  const flaw = isCut ? "has a NUL in its path" : isUtf8(path) ? undefined : NOT_UTF8;
  return { path: path.toString("utf8"), ...(flaw === undefined ? {} : { flaw }) };
};

export class TarReader {
  readonly #visitor: TarVisitor;
  /** The beginning of a header whose rest has not arrived yet. */
  #torn: Buffer = Buffer.alloc(0);
  #left = 0;
  #padding = 0;
  /** The pieces of the extended header that is being read. */
  #extended: { readonly header: TarHeader; readonly pieces: Buffer[] } | undefined;
  #pending = nothing;
  #global: PaxRecords = {};
  #zeroBlocks = 0;
  #hasHeader = false;

  constructor(visitor: TarVisitor) {
    this.#visitor = visitor;
  }

  /** True after two blocks of zeros. `write` then ignores further bytes. */
  get ended(): boolean {
    return this.#zeroBlocks >= 2;
  }

  /** Reads the next bytes. Throws `TarDamage` if they are not a tar archive. */
  write(bytes: Buffer): void {
    for (let at = 0; at < bytes.length && !this.ended; )
      if (this.#left > 0) at += this.#takeContent(bytes.subarray(at, at + this.#left));
      else if (this.#padding > 0) at += this.#skip(bytes.length - at);
      else at += this.#takeHeader(bytes.subarray(at, at + BLOCK - this.#torn.length));
  }

  /** Ends the archive. Throws `TarDamage` if it is incomplete. A single block of zeros is a valid end. */
  end(): void {
    if (this.#zeroBlocks === 0 || this.#torn.length > 0) throw new TarDamage(this.#hasHeader);
  }

  #skip(there: number): number {
    const skipped = Math.min(this.#padding, there);
    this.#padding -= skipped;
    return skipped;
  }

  #takeContent(bytes: Buffer): number {
    this.#left -= bytes.length;
    if (this.#extended === undefined) this.#visitor.content(bytes);
    else {
      this.#extended.pieces.push(Buffer.from(bytes));
      if (this.#left === 0) this.#endExtended();
    }
    return bytes.length;
  }

  #takeHeader(bytes: Buffer): number {
    const block = this.#torn.length === 0 ? bytes : Buffer.concat([this.#torn, bytes]);
    if (block.length < BLOCK) this.#torn = Buffer.from(block);
    else {
      this.#torn = Buffer.alloc(0);
      this.#readBlock(block);
    }
    return bytes.length;
  }

  #readBlock(block: Buffer): void {
    if (block.equals(ZEROS)) {
      this.#zeroBlocks++;
      return;
    }
    const header = readHeader(block);
    if (header === undefined || this.#zeroBlocks > 0) throw new TarDamage(false);
    this.#hasHeader = true;
    const isExtended = EXTENDED.includes(header.type);
    const size = (isExtended ? undefined : (this.#pending.size ?? this.#global.size)) ?? header.size ?? 0;
    this.#left = size;
    this.#padding = (BLOCK - (size % BLOCK)) % BLOCK;
    if (!isExtended) this.#endHeaders(header, size);
    else if (header.size === undefined || size > EXTENDED_BYTES) this.#refuse(header, undefined);
    else if (this.#pending.kinds.includes(header.type))
      this.#refuse(header, "is a second extended header for one file");
    else {
      this.#extended = { header, pieces: [] };
      if (size === 0) this.#endExtended();
    }
  }

  /** Reports an unreadable extended header as an entry that the archive rule rejects. */
  #refuse({ path }: TarHeader, flaw: string | undefined): void {
    this.#visitor.entry({ path, type: flaw === undefined ? "other" : "file", size: 0, executable: false, flaw });
  }

  #endExtended(): void {
    if (this.#extended === undefined) return;
    const { header, pieces } = this.#extended;
    this.#extended = undefined;
    const bytes = Buffer.concat(pieces);
    if (header.flaw !== undefined && header.flaw !== NOT_UTF8) this.#add("", { flaw: header.flaw });
    if (header.type === "g") this.#global = { ...this.#global, ...readPax(bytes) };
    else if (header.type === "K") this.#add("K", { flaw: "has a link target but is not a link" });
    else this.#add(header.type, header.type === "L" ? longName(bytes) : readPax(bytes));
  }

  #add(kind: string, { path, size, flaw }: PaxRecords): void {
    const { kinds, ...known } = this.#pending;
    const isTwice = path !== undefined && known.path !== undefined;
    this.#pending = {
      kinds: kinds + kind,
      path: path ?? known.path,
      size: size ?? known.size,
      flaw: known.flaw ?? flaw ?? (isTwice ? "has two paths" : undefined),
    };
  }

  #endHeaders(header: TarHeader, size: number): void {
    const { path = header.path, flaw } = this.#pending;
    const given = this.#pending.path !== undefined && header.flaw === NOT_UTF8 ? undefined : header.flaw;
    this.#visitor.entry({
      path,
      type: typeOf(header, path),
      size: Number.isSafeInteger(size) ? size : Number.POSITIVE_INFINITY,
      executable: header.executable,
      flaw: flaw ?? given ?? this.#contradiction(header, path),
    });
    this.#pending = nothing;
  }

  #contradiction({ hasLink, size, type, path: own }: TarHeader, path: string): string | undefined {
    if (type === "\0" && own.endsWith("/") !== path.endsWith("/")) return "has headers that disagree about its type";
    if (hasLink) return "has a link target but is not a link";
    if (size === undefined) return "has a size that is not a number";
    const { path: everyPath, flaw } = this.#global;
    if (flaw !== undefined) return `follows a global pax header that ${flaw}`;
    if (everyPath !== undefined) return "follows a global pax header that sets a path";
    const sizes = [this.#pending.size, this.#global.size].filter((one) => one !== undefined);
    return sizes.every((one) => one === size) ? undefined : "has headers that disagree about its size";
  }
}
