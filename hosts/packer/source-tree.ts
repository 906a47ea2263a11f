/**
 * Lists the files of a source, in a browser and in Node. Omits files that match an ignore file and files that never
 * belong in a deploy, and does not read the folders that it omits.
 */
import { ignoreFiles, isNeverPacked } from "../../core/domain/deploy/source/packing.ts";
import { type IgnoreRules, readIgnoreRules } from "./ignore-rules.ts";

/** A source that cannot be packed. The message states the reason and the next step. */
export class PackError extends Error {}

export interface SourceEntry {
  readonly name: string;
  /** `other` is anything else, such as a socket. */
  readonly kind: "file" | "folder" | "link" | "other";
}

export interface FolderListing {
  /** Identifies the folder, regardless of the links that lead to it. */
  readonly id: string;
  /** The entries, in any order. */
  readonly entries: readonly SourceEntry[];
}

/** The kind of the entry to which a link leads. `outside` is not in the source; `missing` does not exist. */
export type LinkTarget = "file" | "folder" | "other" | "outside" | "missing";

export interface FileContent {
  /** Bytes. */
  readonly size: number;
  read(): AsyncIterable<Uint8Array>;
}

/** The folder to pack. Paths are relative to it, with `/` as separator; the folder itself is the empty path. */
export interface SourceTree {
  /** Returns undefined if the folder no longer exists. */
  readFolder(path: string): Promise<FolderListing | undefined>;
  /** Returns undefined if the file no longer exists. */
  openFile(path: string): Promise<FileContent | undefined>;
  /** Resolves a link. Absent if the tree has no links. */
  resolveLink?(path: string): Promise<LinkTarget>;
}

export interface WalkedFolder {
  /** The `id` of the folder. */
  readonly id: string;
  /** Returns whether an entry with this name would be packed. */
  concerns(name: string): boolean;
}

export interface WalkedSource {
  /** The paths of the files, in a fixed order. */
  readonly files: readonly string[];
  readonly folders: readonly WalkedFolder[];
}

interface Scope {
  readonly rules: IgnoreRules;
  /** The folder of the rules. */
  readonly base: string;
}

const isIgnored = (scopes: readonly Scope[], path: string): boolean =>
  scopes.some(({ rules, base }) => rules.ignores(base === "" ? path : path.slice(base.length + 1)));

const joinPath = (folder: string, name: string): string => (folder === "" ? name : `${folder}/${name}`);

/** Reads a text file of the source. Returns undefined if the file does not exist. */
export const readText = async (tree: SourceTree, path: string): Promise<string | undefined> => {
  const file = await tree.openFile(path);
  if (file === undefined) return undefined;
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of file.read()) text += decoder.decode(chunk, { stream: true });
  return text + decoder.decode();
};

const rejectLink = (path: string, target: "outside" | "missing"): PackError =>
  new PackError(
    target === "missing"
      ? `'${path}' is a broken link. Delete it, or exclude it with .portsideignore.`
      : `'${path}' is a link to a path outside the source folder. Copy its target, or exclude it with .portsideignore.`,
  );

class Walk implements WalkedSource {
  readonly files: string[] = [];
  readonly folders: WalkedFolder[] = [];
  readonly #tree: SourceTree;
  /** The ids of the current folder and its ancestors, to detect cyclic links. */
  readonly #ids: string[] = [];

  constructor(tree: SourceTree) {
    this.#tree = tree;
  }

  async folder(path: string, outer: readonly Scope[]): Promise<void> {
    const listing = await this.#tree.readFolder(path);
    if (listing === undefined) return;
    const { id, entries } = listing;
    if (this.#ids.includes(id))
      throw new PackError(`'${path}' is a link to one of its parent folders. Exclude it with .portsideignore.`);
    this.#ids.push(id);
    const scopes = await this.#scopes(path, entries, outer);
    const depth = path === "" ? 0 : path.split("/").length;
    this.folders.push({
      id,
      concerns: (name) => !isNeverPacked(name, depth) && !isIgnored(scopes, joinPath(path, name)),
    });
    for (const { name, kind } of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      if (isNeverPacked(name, depth)) continue;
      await this.#entry(joinPath(path, name), kind, scopes);
    }
    this.#ids.pop();
  }

  async #scopes(path: string, entries: readonly SourceEntry[], outer: readonly Scope[]): Promise<readonly Scope[]> {
    const present = ignoreFiles.filter((name) => entries.some((entry) => entry.name === name));
    const texts = await Promise.all(present.map((name) => readText(this.#tree, joinPath(path, name))));
    const found = texts.filter((text) => text !== undefined);
    return found.length === 0 ? outer : [...outer, { rules: await readIgnoreRules(found), base: path }];
  }

  async #entry(path: string, kind: SourceEntry["kind"], scopes: readonly Scope[]): Promise<void> {
    // A rule with a trailing slash matches folders only.
    if (isIgnored(scopes, kind === "folder" ? `${path}/` : path)) return;
    if (kind === "folder") await this.folder(path, scopes);
    else if (kind === "file") this.files.push(path);
    else if (kind === "link") await this.#link(path, scopes);
  }

  async #link(path: string, scopes: readonly Scope[]): Promise<void> {
    const target = (await this.#tree.resolveLink?.(path)) ?? "other";
    if (target === "outside" || target === "missing") throw rejectLink(path, target);
    await this.#entry(path, target, scopes);
  }
}

/** Lists the files and the folders of a source. Fails with a `PackError` for a link that cannot be packed. */
export const walkSource = async (tree: SourceTree): Promise<WalkedSource> => {
  const walk = new Walk(tree);
  await walk.folder("", []);
  return walk;
};

/** Returns a source that consists of one folder of another source. */
export const folderOf = (tree: SourceTree, folder: string): SourceTree => {
  const { resolveLink } = tree;
  return {
    readFolder: (path) => tree.readFolder(path === "" ? folder : joinPath(folder, path)),
    openFile: (path) => tree.openFile(joinPath(folder, path)),
    ...(resolveLink && { resolveLink: (path: string) => resolveLink(joinPath(folder, path)) }),
  };
};
