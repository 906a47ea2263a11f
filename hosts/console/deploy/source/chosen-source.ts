/** The source that the user chose: a folder, or a finished archive. */
import { PROJECT_FILE } from "../../../../core/domain/deploy/source/packing.ts";
import { treeOfFiles, treeOfTexts } from "../../../packer/file-tree.ts";
import { checkArchiveSize, type PackProgress, packSource } from "../../../packer/pack.ts";
import {
  type FileContent,
  folderOf,
  PackError,
  readText,
  type SourceTree,
  walkSource,
} from "../../../packer/source-tree.ts";
import { templates } from "../../../packer/templates.ts";
import type { DroppedItem } from "../../components/drop/dropped-items.ts";
import { contentOfFile, treeOfEntries } from "./entry-tree.ts";

export type ChosenSource =
  | { readonly kind: "folder"; readonly name: string; readonly tree: SourceTree }
  | { readonly kind: "archive"; readonly name: string; readonly file: File };

const ARCHIVE = /\.(tar\.gz|tgz)$/i;

const archiveOf = (file: File): ChosenSource => {
  if (!ARCHIVE.test(file.name)) throw new PackError(`'${file.name}' is not a tar.gz. Choose a folder or a tar.gz.`);
  checkArchiveSize(file.size);
  return { kind: "archive", name: file.name.replace(ARCHIVE, ""), file };
};

/** Returns the source of a drop: one folder, one tar.gz, or several files and folders that together are the source. */
export const sourceOfDrop = (items: readonly DroppedItem[]): ChosenSource => {
  const entries = items.map(({ entry }) => entry).filter((entry) => entry !== null);
  const [first] = entries;
  const file = items[0]?.file;
  if (items.length === 1 && file && first?.isDirectory !== true) return archiveOf(file);
  if (first === undefined) throw new PackError("The dropped items contain no files. Drop a folder or a tar.gz.");
  return entries.length === 1
    ? { kind: "folder", name: first.name, tree: treeOfEntries(first as FileSystemDirectoryEntry) }
    : { kind: "folder", name: "", tree: treeOfEntries(entries) };
};

/** Returns the source of a file input with `webkitdirectory`. */
export const sourceOfFolder = (files: readonly File[]): ChosenSource => {
  const [first] = files;
  if (first === undefined) throw new PackError("The folder has no files to deploy. Choose another folder.");
  const paths = files.map((file): [string, () => FileContent] => [
    file.webkitRelativePath.split("/").slice(1).join("/"),
    () => contentOfFile(file),
  ]);
  const [name = ""] = first.webkitRelativePath.split("/");
  return { kind: "folder", name, tree: treeOfFiles(new Map(paths)) };
};

/** Returns the source of a file input. */
export const sourceOfArchive = ([file]: readonly File[]): ChosenSource => {
  if (file === undefined) throw new PackError("No file was chosen. Choose a tar.gz.");
  return archiveOf(file);
};

/** A small service to start from. */
export const exampleSource = (): ChosenSource => ({
  kind: "folder",
  name: "hello",
  tree: treeOfTexts(templates.node("hello")),
});

/** The facts about a source that the page shows before it packs the source. */
export interface SourceFacts {
  /** The number of files; undefined for an archive. */
  readonly files?: number;
  /** The fields of the source's `portside.json`. */
  readonly project?: Readonly<Record<string, unknown>>;
}

const readProject = async (tree: SourceTree): Promise<SourceFacts["project"]> => {
  const text = await readText(tree, PROJECT_FILE);
  if (text === undefined) return undefined;
  try {
    const project: unknown = JSON.parse(text);
    if (typeof project === "object" && project !== null) return project as Record<string, unknown>;
  } catch {
    // The error below also describes text that is not JSON.
  }
  throw new PackError(`${PROJECT_FILE} is not a JSON object. Correct the file, and choose the folder again.`);
};

/** Reads the names of the files, and `portside.json`. */
export const examine = async (source: ChosenSource): Promise<SourceFacts & { readonly source: ChosenSource }> => {
  if (source.kind === "archive") return { source };
  const project = await readProject(source.tree);
  const folder = typeof project?.["source"] === "string" ? project["source"].replace(/^(\.\/)+|^\.$|\/+$/g, "") : "";
  const tree = folder === "" ? source.tree : folderOf(source.tree, folder);
  const { files } = await walkSource(tree);
  if (files.length === 0) throw new PackError("The folder has no files to deploy. Check the ignore files.");
  return { source: { ...source, tree }, files: files.length, ...(project === undefined ? {} : { project }) };
};

/** Chunks are combined into a `Blob` at this size, because the browser can store a `Blob` on disk. */
const BLOB_BYTES = 16 * 1024 * 1024;

/** Packs the source if necessary. */
export const archiveOfSource = async (
  source: ChosenSource,
  progress: (progress: PackProgress) => void,
): Promise<Blob> => {
  if (source.kind === "archive") return source.file;
  const parts: Blob[] = [];
  let chunks: Uint8Array<ArrayBuffer>[] = [];
  let bytes = 0;
  for await (const chunk of packSource(source.tree, progress)) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes < BLOB_BYTES) continue;
    parts.push(new Blob(chunks));
    [chunks, bytes] = [[], 0];
  }
  return new Blob([...parts, ...chunks], { type: "application/gzip" });
};
