/**
 * Checks the entries of a source archive while the archive arrives. Only files and folders are allowed. Links are
 * rejected, because a later entry can make a safe link unsafe.
 */
import { type ArchiveLimits, archiveLimits } from "../accounts/limits.ts";
import { formatMemory } from "./resources.ts";

/** The header of an archive entry. */
export interface ArchiveEntry {
  /** The path as written in the archive. */
  readonly path: string;
  readonly type: "file" | "folder" | "other";
  /** Bytes of the entry's content. */
  readonly size: number;
  /** A problem with the entry's headers, as a clause that follows the entry's name. */
  readonly flaw?: string | undefined;
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern must match control characters
const UNSAFE = /[\u0000-\u001f\u007f\\]/;
/** A path that ends with a slash or a dot segment can only belong to a folder. */
const FOLDER_ONLY = /(^|\/)\.?$/;

const quoted = (path: string): string => JSON.stringify(path.length > 120 ? `${path.slice(0, 117)}...` : path);

const bytesOf = (text: string): number => new TextEncoder().encode(text).length;

const partsOf = (path: string): string[] => path.split("/").filter((part) => part !== "" && part !== ".");

const pathProblem = (path: string, limits: ArchiveLimits): string | undefined => {
  if (path === "") return "has no path";
  if (bytesOf(path) > limits.pathBytes) return `has a path longer than ${limits.pathBytes} bytes`;
  if (UNSAFE.test(path)) return "has a control character or a backslash in its path";
  if (path.startsWith("/") || /^[A-Za-z]:/.test(path))
    return "has an absolute path; use paths relative to the source folder";
  if (path.split("/").includes("..")) return "leaves the source folder with '..'";
  const parts = partsOf(path);
  if (parts.some((part) => bytesOf(part) > limits.partBytes))
    return `has a file or folder name longer than ${limits.partBytes} bytes`;
  return parts.length > limits.depth ? `is nested deeper than ${limits.depth} levels` : undefined;
};

const entryProblem = (entry: ArchiveEntry, limits: ArchiveLimits): string | undefined => {
  if (entry.type === "other") return "is a link, a device or another special entry; only files and folders are allowed";
  if (entry.size > limits.entryBytes) return `is larger than ${formatMemory(limits.entryBytes)}`;
  const problem = entry.flaw ?? pathProblem(entry.path, limits);
  if (problem !== undefined) return problem;
  if (entry.type === "folder")
    return entry.size > 0 ? "is a folder, but contains data; only files may contain data" : undefined;
  return FOLDER_ONLY.test(entry.path)
    ? "is a file, but its path ends with '/' or '.'; only the path of a folder may"
    : undefined;
};

const FILE = 0;
const ROOT = 1;

/**
 * The contents of an archive so far: each file and each folder, including folders that appear only in paths. The limit
 * on entries bounds memory use.
 */
export class ArchiveContents {
  readonly #limits: ArchiveLimits;
  /** Maps the parent folder's number and a name to `FILE` or to the number of a folder. */
  readonly #numbers = new Map<string, number>();
  /** Folders that so far appear only in paths. They are already counted, so their entries must not count again. */
  readonly #implied = new Set<number>();
  #lastFolder = ROOT;
  #entries = 0;
  #bytes = 0;

  constructor(limits: ArchiveLimits = archiveLimits) {
    this.#limits = limits;
  }

  /** The number of entries, including folders that appear only in paths. */
  get entries(): number {
    return this.#entries;
  }

  /** Total bytes of all files. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Adds the next entry. Returns a message if the entry is not allowed; the caller must then reject the archive. */
  admit(entry: ArchiveEntry): string | undefined {
    this.#bytes += entry.size;
    const problem = entryProblem(entry, this.#limits) ?? this.#place(entry) ?? this.#sumProblem();
    return problem === undefined ? undefined : `entry ${quoted(entry.path)} ${problem}`;
  }

  #sumProblem(): string | undefined {
    const { unpackedBytes } = this.#limits;
    return this.#bytes > unpackedBytes
      ? `makes the unpacked archive larger than ${formatMemory(unpackedBytes)}`
      : undefined;
  }

  #place({ path, type }: ArchiveEntry): string | undefined {
    const parts = partsOf(path);
    const name = parts.pop();
    if (name === undefined) return this.#count();
    let folder = ROOT;
    for (const [at, part] of parts.entries()) {
      const found = this.#numbers.get(`${folder}/${part}`);
      if (found === FILE) return `is below ${quoted(parts.slice(0, at + 1).join("/"))}, which is a file`;
      if (found === undefined) {
        const problem = this.#count();
        if (problem !== undefined) return problem;
      }
      folder = found ?? this.#addFolder(`${folder}/${part}`, true);
    }
    return type === "file" ? this.#placeFile(`${folder}/${name}`) : this.#placeFolder(`${folder}/${name}`);
  }

  #placeFile(key: string): string | undefined {
    const found = this.#numbers.get(key);
    if (found !== undefined && found !== FILE) return "is a file, but an earlier entry needs a folder at that path";
    this.#numbers.set(key, FILE);
    return this.#count();
  }

  #placeFolder(key: string): string | undefined {
    const found = this.#numbers.get(key);
    if (found === FILE) return "is a folder, but an earlier entry is a file with that path";
    if (found === undefined) this.#addFolder(key, false);
    return found !== undefined && this.#implied.delete(found) ? undefined : this.#count();
  }

  #addFolder(key: string, isImplied: boolean): number {
    const number = ++this.#lastFolder;
    this.#numbers.set(key, number);
    if (isImplied) this.#implied.add(number);
    return number;
  }

  #count(): string | undefined {
    const { entries } = this.#limits;
    if (++this.#entries <= entries) return undefined;
    const implied = this.#implied.size === 0 ? "" : ", including folders that appear only in paths";
    return `exceeds the limit of ${entries} entries${implied}`;
  }
}
