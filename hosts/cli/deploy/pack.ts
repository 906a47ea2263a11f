/** Packs a folder into a reproducible tar.gz: the same files produce the same bytes. */
import { createReadStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { archiveLimits } from "../../../core/domain/accounts/limits.ts";
import { formatMemory } from "../../../core/domain/deploy/resources.ts";
import type { Source } from "../../client/form.ts";
import { CommandError } from "../terminal/io.ts";
import { sourceError, sourceFiles } from "./source-files.ts";

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
  const files = await sourceFiles(folder);
  if (files.length === 0) throw new CommandError(`${folder} has no files to deploy. Check the ignore files.`);
  await using stack = new AsyncDisposableStack();
  const temporary = await mkdtemp(join(tmpdir(), "portside-"));
  stack.defer(() => rm(temporary, { recursive: true, force: true }));
  const path = join(temporary, "source.tar.gz");
  const { create } = await import("tar");
  await create(
    { cwd: folder, file: path, gzip: { level: 6 }, portable: true, follow: true, mtime: new Date(0) },
    // The prefix `./` is needed because tar reads a name that begins with @ as an archive.
    files.map((file) => `./${file}`),
  );
  const { size } = await stat(path);
  if (size > archiveLimits.fileBytes)
    throw new CommandError(
      `The packed source is ${mebibytes(size)}, more than the limit of ${formatMemory(archiveLimits.fileBytes)}. Use .portsideignore to exclude files that the build can download.`,
    );
  const kept = stack.move();
  const open = () => createReadStream(path);
  return { bytes: size, files: files.length, open, [Symbol.asyncDispose]: () => kept.disposeAsync() };
};
