/** Unpacks an archive into a new folder and reads back what it wrote. */
import { lstatSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { TreeWriter } from "../../../adapters/local/builds/tree-writer.ts";
import { ArchiveWalk } from "../../../adapters/shared/archives/archive-walk.ts";
import { archiveLimits } from "../../../core/domain/accounts/limits.ts";
import { bytesOf } from "./archives.ts";
import { folderWith } from "./folders.ts";

export interface Unpacked {
  /** Every file by its path. */
  readonly files: Readonly<Record<string, { readonly content: Buffer; readonly mode: number }>>;
  readonly folders: Readonly<Record<string, { readonly mode: number }>>;
  /** Files outside of the folder; must be empty. */
  readonly outside: readonly string[];
  /** The reason if the archive was rejected. */
  readonly problem: string | undefined;
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

export const unpack = async (archive: Uint8Array, piece = 64 * 1024): Promise<Unpacked> => {
  using around = folderWith();
  const folder = join(around.path, "a", "b", "source");
  mkdirSync(folder, { recursive: true });
  const walk = new ArchiveWalk(archiveLimits, new TreeWriter(folder));
  for await (const bytes of bytesOf(archive, piece)) await walk.write(bytes);
  await walk.end();
  walk.close();
  const outside = readdirSync(around.path, { recursive: true })
    .map(String)
    .filter((path) => path !== "a" && path !== "a/b" && !/^a\/b\/source(\/|$)/.test(path));
  return { ...read(folder), outside, problem: walk.problem };
};
