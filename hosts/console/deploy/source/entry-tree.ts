/** A source from folders and files that the user dropped. */
import { chunksOf } from "../../../packer/pack.ts";
import type { FileContent, SourceTree } from "../../../packer/source-tree.ts";
import { entriesOf, fileOf, isFolder } from "../../components/drop/dropped-items.ts";

export const contentOfFile = (file: File): FileContent => ({
  size: file.size,
  read: () => chunksOf(file.stream()),
});

/**
 * Returns a source whose files are read on demand. Reads each folder once.
 * @param root the source folder, or the entries of the source folder
 */
export const treeOfEntries = (root: FileSystemDirectoryEntry | readonly FileSystemEntry[]): SourceTree => {
  const folders = new Map<string, ReadonlyMap<string, FileSystemEntry>>();
  const find = async (path: string): Promise<FileSystemEntry | undefined> => {
    const slash = path.lastIndexOf("/");
    return (await read(slash < 0 ? "" : path.slice(0, slash)))?.get(path.slice(slash + 1));
  };
  const load = async (path: string): Promise<ReadonlyMap<string, FileSystemEntry> | undefined> => {
    const folder = path === "" ? root : await find(path);
    if (folder === undefined) return undefined;
    const entries = "isDirectory" in folder ? (isFolder(folder) ? await entriesOf(folder) : []) : folder;
    return new Map(entries.map((entry) => [entry.name, entry]));
  };
  const read = async (path: string): Promise<ReadonlyMap<string, FileSystemEntry> | undefined> => {
    const known = folders.get(path);
    if (known !== undefined) return known;
    const entries = await load(path);
    if (entries !== undefined) folders.set(path, entries);
    return entries;
  };
  return {
    readFolder: async (path) => {
      const entries = await read(path);
      if (entries === undefined) return undefined;
      const kindOf = (entry: FileSystemEntry) => (entry.isDirectory ? ("folder" as const) : ("file" as const));
      return { id: path, entries: [...entries].map(([name, entry]) => ({ name, kind: kindOf(entry) })) };
    },
    openFile: async (path) => {
      const entry = await find(path);
      if (entry === undefined || isFolder(entry)) return undefined;
      return contentOfFile(await fileOf(entry));
    },
  };
};
