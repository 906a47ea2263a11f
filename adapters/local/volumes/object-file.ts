/** Writes an object's bytes to a file outside its volume. */
import { type BigIntStats, createWriteStream, fchownSync, type WriteStream } from "node:fs";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/** Chunk size for reads and writes, in bytes. */
export const CHUNK_BYTES = 1 << 20;

/** Returns the entity tag of a file. A rename does not change it. */
export const etagOf = ({ ino, mtimeNs, size }: BigIntStats): string =>
  `"${[ino, mtimeNs, size].map((part) => part.toString(36)).join("-")}"`;

const giveFile = (file: WriteStream, fd: number, user: number): void => {
  try {
    fchownSync(fd, user, user);
  } catch (error) {
    file.destroy(error as Error);
  }
};

/**
 * Writes the whole body to a new file and flushes the file. Rejects if the body is truncated. If writing fails, the
 * body stays open, so the sender can receive a response.
 * @param user the file's owner; undefined for this process's user
 */
export const receive = async (path: string, body: Readable, user: number | undefined): Promise<void> => {
  const file = createWriteStream(path, { flags: "wx", mode: 0o600, flush: true, highWaterMark: CHUNK_BYTES });
  if (user !== undefined) file.once("open", (fd) => giveFile(file, fd, user));
  try {
    await pipeline(body.iterator({ destroyOnReturn: false }), file);
  } finally {
    // Wait until the file is closed. If the body fails immediately, the file may not exist yet, so the caller could
    // not delete it.
    if (!file.closed) await new Promise<void>((resolve) => file.once("close", () => resolve()));
  }
};
