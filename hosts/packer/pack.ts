/**
 * Packs a source into a tar.gz, in a browser and in Node. The same files produce the same bytes, so the digest of an
 * unchanged source stays the same.
 */
import { sourceObjectBytes } from "../../core/domain/accounts/limits.ts";
import { ArchiveContents } from "../../core/domain/deploy/archive.ts";
import { formatMemory } from "../../core/domain/deploy/resources.ts";
import { MODE_BYTES, packedMode } from "../../core/domain/deploy/source/packing.ts";
import { type FileContent, PackError, type SourceTree, walkSource } from "./source-tree.ts";
import { paddingOf, tarEnd, tarHeader } from "./tar.ts";

/** Reads at least `MODE_BYTES` bytes, unless the content is shorter. */
const readHead = async (chunks: AsyncIterator<Uint8Array>): Promise<Uint8Array> => {
  let head = new Uint8Array();
  while (head.length < MODE_BYTES) {
    const { done, value } = await chunks.next();
    if (done) break;
    const joined = new Uint8Array(head.length + value.length);
    joined.set(head);
    joined.set(value, head.length);
    head = joined;
  }
  return head;
};

/** Yields an entry whose content has exactly the size in its header, even if the file grows meanwhile. */
async function* entryOf(path: string, { size, read }: FileContent): AsyncGenerator<Uint8Array> {
  const chunks = read()[Symbol.asyncIterator]();
  let chunk = await readHead(chunks);
  yield* tarHeader({ path, size, mode: packedMode(chunk) });
  let rest = size;
  while (rest > 0) {
    const part = chunk.subarray(0, rest);
    rest -= part.length;
    yield part;
    if (rest === 0) break;
    const { done, value } = await chunks.next();
    if (done) throw new PackError(`'${path}' became shorter while it was packed. Try again.`);
    chunk = value;
  }
  await chunks.return?.();
  yield new Uint8Array(paddingOf(size));
}

async function* tarOf(tree: SourceTree, files: readonly string[], packed: (path: string) => void) {
  const contents = new ArchiveContents();
  for (const path of files) {
    const file = await tree.openFile(path);
    if (file === undefined) continue;
    const problem = contents.admit({ path, type: "file", size: file.size });
    if (problem !== undefined) throw new PackError(`The source cannot be packed: ${problem}. ${EXCLUDE}`);
    yield* entryOf(path, file);
    packed(path);
  }
  yield tarEnd();
}

const EXCLUDE = "Use .portsideignore to exclude files that the build can download.";

const CHUNK_BYTES = 64 * 1024;

/** Yields the same bytes in chunks of equal length, so that the compressed bytes do not depend on the reads. */
async function* inChunks(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let chunk = new Uint8Array(CHUNK_BYTES);
  let length = 0;
  for await (let part of parts) {
    while (part.length > 0) {
      const taken = part.subarray(0, CHUNK_BYTES - length);
      chunk.set(taken, length);
      length += taken.length;
      part = part.subarray(taken.length);
      if (length < CHUNK_BYTES) continue;
      yield chunk;
      chunk = new Uint8Array(CHUNK_BYTES);
      length = 0;
    }
  }
  if (length > 0) yield chunk.subarray(0, length);
}

/**
 * Compresses with one implementation everywhere: the implementations of `CompressionStream` in browsers and in Node
 * produce different bytes. Expects chunks of equal length.
 */
async function* gzip(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { Gzip } = await import("fflate");
  let ready: Uint8Array[] = [];
  const compressor = new Gzip({ level: 6, mtime: 0 }, (chunk) => {
    ready.push(chunk);
  });
  for await (const chunk of chunks) {
    compressor.push(chunk);
    yield* ready;
    ready = [];
  }
  compressor.push(new Uint8Array(), true);
  yield* ready;
}

/** Yields the chunks of a stream. Not every browser can iterate a stream. */
export async function* chunksOf<T>(stream: ReadableStream<T>): AsyncGenerator<T> {
  const reader = stream.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    await reader.cancel();
  }
}

export interface PackProgress {
  /** The number of files packed so far. */
  readonly done: number;
  /** The number of files of the source. */
  readonly total: number;
}

/** Throws a `PackError` if an archive is larger than the limit. */
export const checkArchiveSize = (bytes: number, maxBytes: number = sourceObjectBytes): void => {
  if (bytes > maxBytes)
    throw new PackError(`The packed source is larger than the limit of ${formatMemory(maxBytes)}. ${EXCLUDE}`);
};

/**
 * Yields the tar.gz of a source. Fails with a `PackError` if the source has no files or exceeds the limits of an
 * archive.
 * @param progress called before the first file and after each file
 * @param maxBytes the limit of the archive
 */
export async function* packSource(
  tree: SourceTree,
  progress: (progress: PackProgress) => void = () => {},
  maxBytes?: number,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const { files } = await walkSource(tree);
  if (files.length === 0) throw new PackError("The folder has no files to deploy. Check the ignore files.");
  let done = 0;
  progress({ done, total: files.length });
  const tar = tarOf(tree, files, () => progress({ done: ++done, total: files.length }));
  let bytes = 0;
  for await (const chunk of gzip(inChunks(tar))) {
    bytes += chunk.length;
    checkArchiveSize(bytes, maxBytes);
    yield chunk as Uint8Array<ArrayBuffer>;
  }
}
