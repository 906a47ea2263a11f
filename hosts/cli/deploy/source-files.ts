/** The files of a source folder on disk, for the packer. Follows links within the folder. */
import { createReadStream } from "node:fs";
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { formatFileError } from "../../composition/file-error.ts";
import {
  type FileContent,
  type LinkTarget,
  PackError,
  type SourceEntry,
  type SourceTree,
  walkSource,
} from "../../packer/source-tree.ts";
import { CommandError } from "../terminal/io.ts";

/** Returns whether a real path is outside a folder. */
export const isOutside = (root: string, real: string): boolean => {
  const path = relative(root, real);
  return path === ".." || path.startsWith(`..${sep}`);
};

/** Returns undefined if the entry, such as a temporary file, was deleted after its folder was read. */
const ifThere = <T>(found: Promise<T>): Promise<T | undefined> =>
  found.catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });

interface Kinds {
  isDirectory(): boolean;
  isFile(): boolean;
}

const kindOf = (entry: Kinds): "file" | "folder" | "other" =>
  entry.isDirectory() ? "folder" : entry.isFile() ? "file" : "other";

/** Smaller files are read in one call. */
const STREAMED_BYTES = 1024 * 1024;

const openFile = async (path: string): Promise<FileContent | undefined> => {
  const found = await ifThere(stat(path));
  if (found === undefined) return undefined;
  if (found.size > STREAMED_BYTES) return { size: found.size, read: () => createReadStream(path) };
  const bytes = await ifThere(readFile(path));
  if (bytes === undefined) return undefined;
  return {
    size: bytes.length,
    async *read() {
      yield bytes;
    },
  };
};

const resolveLink = async (root: string, path: string): Promise<LinkTarget> => {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined) return "missing";
  if (isOutside(root, real)) return "outside";
  const target = await ifThere(stat(real));
  return target === undefined ? "missing" : kindOf(target);
};

const treeOf = (root: string): SourceTree => ({
  readFolder: async (path) => {
    const id = await ifThere(realpath(join(root, path)));
    const found = id === undefined ? undefined : await ifThere(readdir(id, { withFileTypes: true }));
    if (id === undefined || found === undefined) return undefined;
    const entries = found.map(
      (entry): SourceEntry => ({ name: entry.name, kind: entry.isSymbolicLink() ? "link" : kindOf(entry) }),
    );
    return { id, entries };
  },
  openFile: (path) => openFile(join(root, path)),
  resolveLink: (path) => resolveLink(root, join(root, path)),
});

/** Turns an error of the packer or the file system, such as a missing permission, into a `CommandError`. */
export const sourceError = (folder: string, error: unknown): unknown => {
  if (error instanceof PackError) return new CommandError(error.message);
  const { syscall, path = folder } = error as NodeJS.ErrnoException;
  return syscall === undefined ? error : new CommandError(formatFileError(path, error as NodeJS.ErrnoException));
};

/** Opens a source folder. */
export const openSource = async (folder: string): Promise<SourceTree> => treeOf(await realpath(folder));

export interface SourceFolder {
  /** The folder's real path. */
  readonly path: string;
  /** Returns whether an entry of this name would be packed. */
  isRelevant(name: string): boolean;
}

/** Lists the folders of a source. */
export const sourceFolders = async (folder: string): Promise<SourceFolder[]> => {
  try {
    const { folders } = await walkSource(await openSource(folder));
    return folders.map(({ id, isRelevant }) => ({ path: id, isRelevant }));
  } catch (error) {
    throw sourceError(folder, error);
  }
};
