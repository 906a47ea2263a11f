/** Packs a folder into a reproducible tar.gz: the same files give the same bytes. */
import { createReadStream } from "node:fs";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { archiveLimits } from "../../../core/domain/accounts/limits.ts";
import { formatMemory } from "../../../core/domain/deploy/resources.ts";
import { formatFileError } from "../../composition/file-error.ts";
import { CommandError } from "../terminal/io.ts";
import { sourceError, sourceFiles } from "./source-files.ts";

export interface Packed {
  readonly bytes: number;
  readonly files: number;
  open(): AsyncIterable<Uint8Array>;
  remove(): Promise<void>;
}

export const mebibytes = (bytes: number): string => `${(bytes / 1024 ** 2).toFixed(1)} MiB`;

/** Explains file system errors that the user can fix: no permission, a file deleted meanwhile, a full disk. */
const inWords = (error: unknown, folder: string): unknown => {
  const { syscall, path = folder } = error as NodeJS.ErrnoException;
  return syscall === undefined ? error : new CommandError(formatFileError(path, error as NodeJS.ErrnoException));
};

export const packFolder = (folder: string): Promise<Packed> =>
  pack(folder).catch((error: unknown) => {
    throw inWords(error, folder);
  });

const pack = async (folder: string): Promise<Packed> => {
  const files = await sourceFiles(folder);
  if (files.length === 0) throw new CommandError(`There is nothing to deploy in ${folder}.`);
  const temporary = await mkdtemp(join(tmpdir(), "portside-"));
  const path = join(temporary, "source.tar.gz");
  const remove = () => rm(temporary, { recursive: true, force: true });
  try {
    const { create } = await import("tar");
    await create(
      { cwd: folder, file: path, gzip: { level: 6 }, portable: true, follow: true, mtime: new Date(0) },
      // The prefix `./` is needed because tar reads a name that begins with @ as an archive.
      files.map((file) => `./${file.path}`),
    );
    const { size } = await stat(path);
    if (size > archiveLimits.fileBytes)
      throw new CommandError(
        `The packed source has ${mebibytes(size)}; at most ${formatMemory(archiveLimits.fileBytes)}. Leave out what the build can fetch with .portsideignore.`,
      );
    return { bytes: size, files: files.length, open: () => createReadStream(path), remove };
  } catch (error) {
    await remove();
    throw sourceError(folder, error);
  }
};
