/** A source whose files are in memory. */
import type { FileContent, FolderListing, SourceEntry, SourceTree } from "./source-tree.ts";

const contentOf = (bytes: Uint8Array): FileContent => ({
  size: bytes.length,
  async *read() {
    yield bytes;
  },
});

/** @param files the texts of the files by their paths */
export const treeOfTexts = (files: Readonly<Record<string, string>>): SourceTree => {
  const encoder = new TextEncoder();
  return {
    readFolder: async (path): Promise<FolderListing> => {
      const prefix = path === "" ? "" : `${path}/`;
      const below = Object.keys(files).filter((file) => file.startsWith(prefix));
      const kinds = new Map(
        below.map((file): [string, SourceEntry["kind"]] => {
          const [name = "", ...rest] = file.slice(prefix.length).split("/");
          return [name, rest.length === 0 ? "file" : "folder"];
        }),
      );
      return { id: path, entries: [...kinds].map(([name, kind]) => ({ name, kind })) };
    },
    openFile: async (path) => {
      const text = files[path];
      return text === undefined ? undefined : contentOf(encoder.encode(text));
    },
  };
};
