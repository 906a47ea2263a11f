/** A source from a list of files, such as the files that a user chose in a browser. */
import type { FileContent, SourceEntry, SourceTree } from "./source-tree.ts";

/** Returns the entries of each folder by the folder's path. */
const foldersOf = (paths: Iterable<string>): ReadonlyMap<string, ReadonlyMap<string, SourceEntry["kind"]>> => {
  const folders = new Map<string, Map<string, SourceEntry["kind"]>>();
  for (const path of paths) {
    let folder = "";
    const names = path.split("/");
    for (const [at, name] of names.entries()) {
      const entries = folders.get(folder) ?? new Map<string, SourceEntry["kind"]>();
      folders.set(folder, entries.set(name, at === names.length - 1 ? "file" : "folder"));
      folder = folder === "" ? name : `${folder}/${name}`;
    }
  }
  return folders;
};

/** @param files a function for each path, which opens the file */
export const treeOfFiles = (files: ReadonlyMap<string, () => FileContent>): SourceTree => {
  const folders = foldersOf(files.keys());
  return {
    readFolder: async (path) => {
      const entries = [...(folders.get(path) ?? [])].map(([name, kind]): SourceEntry => ({ name, kind }));
      return { id: path, entries };
    },
    openFile: async (path) => files.get(path)?.(),
  };
};

/** @param files the texts of the files by their paths */
export const treeOfTexts = (files: Readonly<Record<string, string>>): SourceTree => {
  const encoder = new TextEncoder();
  const contentOf = (bytes: Uint8Array): FileContent => ({
    size: bytes.length,
    async *read() {
      yield bytes;
    },
  });
  return treeOfFiles(
    new Map(Object.entries(files).map(([path, text]) => [path, () => contentOf(encoder.encode(text))])),
  );
};
