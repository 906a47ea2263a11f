/** Packs a folder into a temporary tar.gz. */
import { createReadStream } from "node:fs";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Source } from "../../client/form.ts";
import { packSource } from "../../packer/pack.ts";
import { openSource, sourceError } from "./source-files.ts";

/** A packed source. Disposing deletes its temporary file, if there is one. */
export interface Packed extends AsyncDisposable {
  readonly bytes: number;
  readonly files: number;
  open(): AsyncIterable<Uint8Array>;
}

/** Returns the packed source as the file of a deploy's form. */
export const sourceArchive = (packed: Packed): Source => ({ size: packed.bytes, stream: () => packed.open() });

export const mebibytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MiB`;

export const packFolder = (folder: string): Promise<Packed> =>
  pack(folder).catch((error: unknown) => {
    throw sourceError(folder, error);
  });

const pack = async (folder: string): Promise<Packed> => {
  const source = await openSource(folder);
  await using stack = new AsyncDisposableStack();
  const temporary = await mkdtemp(join(tmpdir(), "portside-"));
  stack.defer(() => rm(temporary, { recursive: true, force: true }));
  const path = join(temporary, "source.tar.gz");
  let files = 0;
  await writeFile(
    path,
    packSource(source, ({ done }) => {
      files = done;
    }),
  );
  const { size: bytes } = await stat(path);
  const kept = stack.move();
  return { bytes, files, open: () => createReadStream(path), [Symbol.asyncDispose]: () => kept.disposeAsync() };
};
