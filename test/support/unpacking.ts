/** Unpacks an archive into a folder of its own and reads back what is there. */
import { lstatSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { extractSource } from "../../adapters/local/builder/extract.ts";
import { bytesOf } from "./archives.ts";
import { folderWith } from "./folders.ts";

export interface Unpacked {
  /** Every file by its path. */
  readonly files: Readonly<Record<string, { readonly content: Buffer; readonly mode: number }>>;
  readonly folders: Readonly<Record<string, { readonly mode: number }>>;
  /** What is beside the folder, where nothing may be. */
  readonly outside: readonly string[];
  readonly error: Error | undefined;
}

const read = (folder: string): Pick<Unpacked, "files" | "folders"> => {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => {
    const path = join(entry.parentPath, entry.name);
    return { entry, path, name: relative(folder, path), mode: lstatSync(path).mode & 0o7777 };
  });
  for (const { entry, name } of entries)
    if (!entry.isFile() && !entry.isDirectory()) throw new Error(`${name} is neither a file nor a folder`);
  const ofKind = (isFile: boolean) => entries.filter(({ entry }) => entry.isFile() === isFile);
  return {
    files: Object.fromEntries(
      ofKind(true).map(({ name, path, mode }) => [name, { content: readFileSync(path), mode }]),
    ),
    folders: Object.fromEntries(ofKind(false).map(({ name, mode }) => [name, { mode }])),
  };
};

/** The extraction works in a folder of its own, beside the one that it fills. */
const isWithin = (path: string): boolean => /^a\/b\/source(\.[0-9a-f-]+)?(\/|$)/.test(path);

export const unpack = async (archive: Uint8Array, piece = 64 * 1024): Promise<Unpacked> => {
  using around = folderWith();
  const parent = join(around.path, "a", "b");
  const folder = join(parent, "source");
  mkdirSync(folder, { recursive: true });
  const source = { digest: "", bytes: 0, open: () => bytesOf(archive, piece), discard: async () => {} };
  const error = await extractSource(source, folder, new AbortController().signal).then(
    () => undefined,
    (cause: Error) => cause,
  );
  const outside = readdirSync(around.path, { recursive: true })
    .map(String)
    .filter((path) => path !== "a" && path !== "a/b" && !isWithin(path));
  for (const begun of readdirSync(parent)) read(join(parent, begun));
  return { ...read(folder), outside, error };
};
