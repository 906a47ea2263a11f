/**
 * Spools a source of unknown size to disk, for storage services that need the size before the upload. The temporary
 * file is unlinked when it is created, so the system frees its space even if the process crashes.
 */
import { mkdtemp, open, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Client } from "../../../client/client.ts";
import { isExplained } from "../../client.ts";
import { CommandError } from "../../terminal/io.ts";
import { openedSource } from "./folder-files.ts";
import { formatSize } from "./format.ts";
import type { SizedSource, Source } from "./source.ts";

export const needsKnownSize = async (client: Client, signal: AbortSignal): Promise<boolean> => {
  const { volumes } = await client.capabilities({ signal });
  // Earlier versions of the platform do not report this capability, but accept uploads of unknown size.
  return volumes.unsized_uploads?.supported === false;
};

/** Bytes of the disk that must stay free for other programs. */
const RESERVED = 64 * 1024 ** 2;
/** Bytes between two checks of the free disk space. */
const CHECK_INTERVAL = 16 * 1024 ** 2;

export type FreeBytesIn = (folder: string) => Promise<number>;

const freeBytesOnDisk: FreeBytesIn = async (folder) => {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize;
};

const unnamedFile = async (folder: string) => {
  const own = await mkdtemp(join(folder, "portside-"));
  try {
    return await open(join(own, "input"), "wx+", 0o600);
  } finally {
    await rm(own, { recursive: true, force: true });
  }
};

export interface SpooledSource extends AsyncDisposable {
  readonly source: SizedSource;
}

export interface SpoolOptions {
  readonly signal: AbortSignal;
  readonly onSpooled: (bytes: number) => void;
  /** Tests replace `folder` and `freeBytesIn`. */
  readonly folder?: string;
  readonly freeBytesIn?: FreeBytesIn;
}

/** Reads the input to its end. Throws `CommandError` if reading fails or the disk has too little space. */
export const spoolSource = async (
  { name, open: opened }: Source,
  { signal, onSpooled, folder = tmpdir(), freeBytesIn = freeBytesOnDisk }: SpoolOptions,
): Promise<SpooledSource> => {
  const handle = await unnamedFile(folder);
  let size = 0;
  let checkedAt = Number.NEGATIVE_INFINITY;
  const full = () =>
    new CommandError(
      `The disk of '${folder}' has too little free space after ${formatSize(size)} of '${name}'. The storage needs the size before the upload, so Portside first copies the whole input to disk. Set TMPDIR to a folder on a larger disk. Nothing was uploaded.`,
    );
  const keep = async (pieces: AsyncIterable<Uint8Array | string>): Promise<void> => {
    for await (const piece of pieces) {
      const bytes = typeof piece === "string" ? Buffer.from(piece) : piece;
      if (size + bytes.length - checkedAt >= CHECK_INTERVAL) {
        checkedAt = size;
        if ((await freeBytesIn(folder)) < RESERVED + CHECK_INTERVAL) throw full();
      }
      await handle.appendFile(bytes);
      size += bytes.length;
      onSpooled(bytes.length);
    }
  };
  try {
    // On an abort, `pipeline` also destroys a source that waits for data.
    await pipeline(opened(), keep, { signal });
  } catch (error) {
    await handle.close();
    if (signal.aborted || isExplained(error)) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOSPC" || code === "EDQUOT") throw full();
    throw new CommandError(`Cannot copy '${name}' to disk: ${message}. Nothing was uploaded.`);
  }
  return { source: openedSource(name, handle, size), [Symbol.asyncDispose]: () => handle.close() };
};
