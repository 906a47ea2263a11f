/**
 * Lists the files of a source folder, except files that match `.gitignore` or `.portsideignore` and files that never
 * belong in a deploy. Follows links within the folder. Fails if a link leads out of the folder.
 */
import { readFileSync } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { PROJECT_FILE } from "../../../core/domain/deploy/project-file.ts";
import { formatFileError } from "../../composition/file-error.ts";
import { CommandError } from "../terminal/io.ts";

const IGNORE_FILES = [".gitignore", ".portsideignore"];

const neverPacked = (name: string, depth: number): boolean =>
  ["node_modules", ".git", ".portside", ".DS_Store"].includes(name) ||
  /^\.env($|\.)/.test(name) ||
  (depth === 0 && name === PROJECT_FILE);

interface Rules {
  /** Relative to the folder of the rules. */
  ignores(path: string): boolean;
}

const readRules = async (folder: string): Promise<Rules | undefined> => {
  const texts = IGNORE_FILES.flatMap((name) => {
    try {
      return [readFileSync(join(folder, name), "utf8")];
    } catch {
      return [];
    }
  });
  if (texts.length === 0) return undefined;
  const { default: ignore } = await import("ignore");
  return (ignore as unknown as () => { add(text: string): Rules })().add(texts.join("\n"));
};

interface Scope {
  readonly rules: Rules;
  /** The folder of the rules, relative to the source. */
  readonly base: string;
}

const isIgnored = (scopes: readonly Scope[], path: string): boolean =>
  scopes.some(({ rules, base }) => rules.ignores(base === "" ? path : path.slice(base.length + 1)));

/** Returns whether a real path is outside a folder. */
export const isOutside = (root: string, real: string): boolean => {
  const path = relative(root, real);
  return path === ".." || path.startsWith(`..${sep}`);
};

export interface SourceFolder {
  /** The folder's real path. */
  readonly path: string;
  /** Returns whether an entry of this name would be packed. */
  concerns(name: string): boolean;
}

/** Returns undefined if the entry, such as a temporary file, was deleted after its folder was read. */
const ifThere = <T>(found: Promise<T>): Promise<T | undefined> =>
  found.catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });

class Walk {
  /** Paths relative to the folder, with `/` as separator. */
  readonly files: string[] = [];
  readonly folders: SourceFolder[] = [];
  readonly #root: string;
  /** The current folder and its ancestors, to detect cyclic links. */
  readonly #path: string[] = [];

  constructor(root: string) {
    this.#root = root;
  }

  async folder(path: string, outer: readonly Scope[]): Promise<void> {
    const real = await ifThere(realpath(join(this.#root, path)));
    const entries = real === undefined ? undefined : await ifThere(readdir(real, { withFileTypes: true }));
    if (real === undefined || entries === undefined) return;
    if (this.#path.includes(real))
      throw new CommandError(`'${path}' is a link to one of its parent folders. Exclude it with .portsideignore.`);
    this.#path.push(real);
    const rules = await readRules(real);
    const scopes = rules === undefined ? outer : [...outer, { rules, base: path }];
    const depth = path === "" ? 0 : path.split("/").length;
    const pathOf = (name: string) => (path === "" ? name : `${path}/${name}`);
    this.folders.push({
      path: real,
      concerns: (name) => !neverPacked(name, depth) && !isIgnored(scopes, pathOf(name)),
    });
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      if (neverPacked(entry.name, depth)) continue;
      const inner = pathOf(entry.name);
      if (entry.isSymbolicLink()) await this.#link(inner, scopes);
      else await this.#entry(inner, scopes, entry.isDirectory(), entry.isFile());
    }
    this.#path.pop();
  }

  async #link(path: string, scopes: readonly Scope[]): Promise<void> {
    if (isIgnored(scopes, path)) return;
    const real = await realpath(join(this.#root, path)).catch(() => undefined);
    if (real === undefined)
      throw new CommandError(`'${path}' is a broken link. Delete it, or exclude it with .portsideignore.`);
    if (isOutside(this.#root, real))
      throw new CommandError(
        `'${path}' is a link to a path outside the source folder. Copy its target, or exclude it with .portsideignore.`,
      );
    const target = await ifThere(stat(real));
    if (target !== undefined) await this.#entry(path, scopes, target.isDirectory(), target.isFile());
  }

  async #entry(path: string, scopes: readonly Scope[], isFolder: boolean, isFile: boolean): Promise<void> {
    // A rule with a trailing slash matches folders only.
    if (isIgnored(scopes, isFolder ? `${path}/` : path)) return;
    if (isFolder) return this.folder(path, scopes);
    if (!isFile) return;
    if ((await ifThere(stat(join(this.#root, path)))) !== undefined) this.files.push(path);
  }
}

/** Turns a file system error, such as a missing permission or a full disk, into a `CommandError`. */
export const sourceError = (folder: string, error: unknown): unknown => {
  const { syscall, path = folder } = error as NodeJS.ErrnoException;
  return syscall === undefined ? error : new CommandError(formatFileError(path, error as NodeJS.ErrnoException));
};

const walkThrough = async (folder: string): Promise<Walk> => {
  try {
    const walk = new Walk(await realpath(folder));
    await walk.folder("", []);
    return walk;
  } catch (error) {
    throw sourceError(folder, error);
  }
};

/** Lists the paths of a source's files, in order. */
export const sourceFiles = async (folder: string): Promise<string[]> => (await walkThrough(folder)).files;

/** Lists the folders of a source. */
export const sourceFolders = async (folder: string): Promise<SourceFolder[]> => (await walkThrough(folder)).folders;
