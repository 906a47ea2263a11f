/** Packs a folder into a temporary tar.gz. */
import { createReadStream } from "node:fs";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Source } from "../../client/form.ts";
import type { PackedSource } from "../../client/storage/deploy-source.ts";
import { packSource } from "../../packer/pack.ts";
import { sizedSource } from "../volumes/transfer/folder-files.ts";
import { uploadSource } from "../volumes/transfer/source.ts";
import { openSource, sourceError } from "./source-files.ts";

/** A packed source. Disposing deletes its temporary file, if there is one. */
export interface Packed extends AsyncDisposable {
  readonly bytes: number;
  readonly files: number;
  open(range?: { readonly start: number; readonly end: number }): AsyncIterable<Uint8Array>;
}

/** Returns the packed source as the file of a deploy's form. */
export const sourceArchive = (packed: Packed): Source => ({ size: packed.bytes, stream: () => packed.open() });

/** Returns the packed source for `deploySource`, which uploads it to a volume if it is too large for a form. */
export const packedSource = (packed: Packed): PackedSource => ({
  bytes: packed.bytes,
  archive: sourceArchive(packed),
  upload: (onSent) =>
    uploadSource(
      sizedSource("source.tar.gz", packed.bytes, (range) => packed.open(range)),
      onSent,
    ),
});

export const mebibytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MiB`;

/** @param maxBytes the limit of the archive */
export const packFolder = (folder: string, maxBytes?: number): Promise<Packed> =>
  pack(folder, maxBytes).catch((error: unknown) => {
    throw sourceError(folder, error);
  });

const pack = async (folder: string, maxBytes: number | undefined): Promise<Packed> => {
  const source = await openSource(folder);
  await using stack = new AsyncDisposableStack();
  const temporary = await mkdtemp(join(tmpdir(), "portside-"));
  stack.defer(() => rm(temporary, { recursive: true, force: true }));
  const path = join(temporary, "source.tar.gz");
  let files = 0;
  await writeFile(
    path,
    packSource(
      source,
      ({ done }) => {
        files = done;
      },
      maxBytes,
    ),
  );
  const { size: bytes } = await stat(path);
  const kept = stack.move();
  return {
    bytes,
    files,
    open: (range) => createReadStream(path, range),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
};
