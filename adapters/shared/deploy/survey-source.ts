/** Reads the files of a source archive that determine its build. The caller must validate the archive first. */
import {
  isNamed,
  isReadInPart,
  type SourceFiles,
  sourceNames,
  sourceTextBytes,
  type TextKind,
  textBytesOf,
  textKindOf,
} from "../../../core/domain/deploy/source/files.ts";
import type { Source } from "../../../core/ports/source-spool.ts";
import { type TarEntry, TarReader } from "../archives/tar/reader.ts";
import { unpackedBytes } from "../archives/tar/unpacked.ts";

export type Survey = { readonly kind: "dockerfile" } | { readonly kind: "files"; readonly files: SourceFiles };

interface OpenText {
  readonly path: string;
  readonly limit: number;
  readonly pieces: Buffer[];
  bytes: number;
}

/** Collects names and texts, up to their limits. */
class SurveyedFiles {
  readonly paths = new Set<string>();
  readonly folders = new Set<string>();
  readonly #texts = new Map<string, string>();
  #open: OpenText | undefined;
  #nested = 0;
  readonly #left: Record<TextKind, number> = { ...sourceTextBytes };

  entry({ path, type }: Pick<TarEntry, "path" | "type">): void {
    this.#close();
    const [name, isFile] = [path.replace(/^(\.\/)+/, "").replace(/\/$/, ""), type === "file"];
    this.#addFolders(name, isFile);
    if (!isFile || !isNamed(name)) return;
    // Names in the root do not count, because each may determine the build. The archive limits bound their number.
    if (name.includes("/") && ++this.#nested > sourceNames) return;
    this.paths.add(name);
    const limit = Math.min(textBytesOf(name), this.#left[textKindOf(name)]);
    if (limit > 0) this.#open = { path: name, limit, pieces: [], bytes: 0 };
  }

  content(bytes: Buffer): void {
    const open = this.#open;
    // Reads one byte more than the limit, to detect longer texts.
    if (open === undefined || open.bytes > open.limit) return;
    // Copies, because the reader reuses its buffer.
    const piece = Buffer.from(bytes.subarray(0, open.limit + 1 - open.bytes));
    open.pieces.push(piece);
    open.bytes += piece.length;
  }

  end(): SourceFiles {
    this.#close();
    return { paths: this.paths, folders: this.folders, texts: this.#texts };
  }

  #close(): void {
    const open = this.#open;
    this.#open = undefined;
    if (open === undefined) return;
    const text = Buffer.concat(open.pieces);
    this.#left[textKindOf(open.path)] -= Math.min(text.length, open.limit);
    if (text.length <= open.limit || isReadInPart(open.path))
      this.#texts.set(open.path, text.toString("utf8", 0, open.limit));
  }

  #addFolders(name: string, isFile: boolean): void {
    const parts = name.split("/");
    const [first = "", second] = isFile ? parts.slice(0, -1) : parts;
    if (first === "" || first === "." || this.folders.size >= sourceNames) return;
    this.folders.add(first);
    if (first === "src" && second !== undefined) this.folders.add(`src/${second}`);
  }
}

export const surveySource = async (source: Source, signal: AbortSignal): Promise<Survey> => {
  const found = new SurveyedFiles();
  const tar = new TarReader(found);
  for await (const chunk of unpackedBytes(source, signal)) {
    tar.write(chunk);
    if (found.paths.has("Dockerfile")) return { kind: "dockerfile" };
  }
  return { kind: "files", files: found.end() };
};
