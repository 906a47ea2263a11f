/**
 * A source that ends when it ends, for a platform whose storage wants an object's length before its bytes: it is kept on
 * disk until it is known. The file has no name from the beginning, so that it is gone with the process, however that ends.
 */
import { mkdtemp, open, rm, statfs } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Client } from "../../client.ts";
import { CommandError } from "../../terminal/io.ts";
import { openedSource } from "./folder-files.ts";
import { formatSize } from "./format.ts";
import type { Source } from "./upload.ts";

/** As `/v1/capabilities` has it; a platform that does not say takes uploads as they come. */
interface Asked {
  readonly volumes: { readonly unsized_uploads?: { readonly supported: boolean } };
}

export const needsLengths = async (client: Client, signal: AbortSignal): Promise<boolean> => {
  const { volumes } = await client.call<Asked>("/v1/capabilities", { signal });
  return volumes.unsized_uploads?.supported === false;
};

/** So much of the disk stays free for others. */
const SPARED = 64 * 1024 ** 2;
/** Bytes between two looks at what is left of the disk. */
const LOOK = 16 * 1024 ** 2;

export type RoomIn = (folder: string) => Promise<number>;

const roomOnDisk: RoomIn = async (folder) => {
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
  readonly source: Source & { readonly size: number };
}

export interface SpoolOptions {
  readonly signal: AbortSignal;
  readonly onSpooled: (bytes: number) => void;
  /** Tests have disks of their own. */
  readonly folder?: string;
  readonly roomIn?: RoomIn;
}

/** Reads the source to its end. Throws in words where it cannot be read, or the disk has no room for it. */
export const spoolSource = async (
  { name, open: opened }: Source,
  { signal, onSpooled, folder = tmpdir(), roomIn = roomOnDisk }: SpoolOptions,
): Promise<SpooledSource> => {
  const handle = await unnamedFile(folder);
  let size = 0;
  let looked = Number.NEGATIVE_INFINITY;
  const full = () =>
    new CommandError(
      `'${name}' does not fit: after ${formatSize(size)} of it there is no room in '${folder}', where it is kept until its length is known. Set TMPDIR to a folder on a larger disk. Nothing was sent.`,
    );
  const keep = async (pieces: AsyncIterable<Uint8Array | string>): Promise<void> => {
    for await (const piece of pieces) {
      const bytes = typeof piece === "string" ? Buffer.from(piece) : piece;
      if (size + bytes.length - looked >= LOOK) {
        looked = size;
        if ((await roomIn(folder)) < SPARED + LOOK) throw full();
      }
      await handle.appendFile(bytes);
      size += bytes.length;
      onSpooled(bytes.length);
    }
  };
  try {
    // Ends a source that says nothing, too, when the signal comes.
    await pipeline(opened(), keep, { signal });
  } catch (error) {
    await handle.close();
    if (signal.aborted || error instanceof CommandError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === "ENOSPC" || code === "EDQUOT") throw full();
    throw new CommandError(`'${name}' cannot be read: ${message}. Nothing was sent.`);
  }
  return { source: openedSource(name, handle, size), [Symbol.asyncDispose]: () => handle.close() };
};
