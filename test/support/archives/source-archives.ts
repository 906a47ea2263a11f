/** Arbitrary archives of allowed entries, written as packers write them, and single invalid entries. */
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { blocksOf, END, entryOfType, gnuLongName, paxHeader } from "./odd-archives.ts";

export interface SourceFile {
  readonly path: string;
  readonly content: Buffer;
  readonly executable: boolean;
}

export interface SourceTree {
  readonly files: readonly SourceFile[];
  /** Folders that have their own entry. */
  readonly folders: readonly string[];
}

/** A path component: any valid text of at most 60 bytes. */
const part = fc
  .string({
    unit: fc.oneof({ weight: 3, arbitrary: fc.constantFrom(..."ab.-_ %éß語😀") }, fc.string({ unit: "grapheme" })),
    maxLength: 12,
  })
  .map((text) => text.replace(/[\p{Cc}/\\]/gu, "").toWellFormed())
  .filter((text) => text !== "" && text !== "." && text !== ".." && Buffer.byteLength(text) <= 60);

const path = fc.array(part, { minLength: 1, maxLength: 12 }).map((parts) => parts.join("/"));

const isWithin = (inner: string, outer: string): boolean => inner.startsWith(`${outer}/`);

/** No path repeats or is the folder of another path. */
const fits = (path: string, taken: readonly string[]): boolean =>
  !/^[A-Za-z]:/.test(path) && taken.every((one) => one !== path && !isWithin(one, path) && !isWithin(path, one));

export const sourceTree = (): fc.Arbitrary<SourceTree> =>
  fc
    .record({
      files: fc.array(
        fc.record({
          path,
          content: fc.uint8Array({ maxLength: 2000 }).map((bytes) => Buffer.from(bytes)),
          executable: fc.boolean(),
        }),
        { minLength: 1, maxLength: 20 },
      ),
      folders: fc.array(path, { maxLength: 5 }),
    })
    .map(({ files, folders }) => {
      const kept: SourceFile[] = [];
      for (const file of files)
        if (
          fits(
            file.path,
            kept.map((one) => one.path),
          )
        )
          kept.push(file);
      const paths = kept.map((one) => one.path);
      return { files: kept, folders: [...new Set(folders)].filter((folder) => fits(folder, paths)) };
    })
    .filter(({ files }) => files.length > 0);

/** How packers write values that do not fit into a plain header. */
export type Packing = "gnu" | "pax" | "paxAlways";
export const packing = (): fc.Arbitrary<Packing> => fc.constantFrom("gnu", "pax", "paxAlways");

const isPlain = (path: string): boolean => path.length <= 99 && /^[\u0020-\u007e]*$/.test(path);

const entryBlocks = (path: string, how: Packing, blocks: Buffer): Buffer => {
  if (isPlain(path) && how !== "paxAlways") return blocks;
  const header = how === "gnu" ? gnuLongName(path) : paxHeader({ mtime: "1700000000.5", path });
  return Buffer.concat([header, blocks]);
};

const shortName = (path: string): string => (isPlain(path) ? path : "short");

const fileBlocks = ({ path, content, executable }: SourceFile, how: Packing): Buffer =>
  entryBlocks(path, how, blocksOf({ path: shortName(path), content, mode: executable ? 0o755 : 0o644 }));

const folderBlocks = (path: string, how: Packing): Buffer =>
  entryBlocks(`${path}/`, how, blocksOf({ path: `${shortName(path)}/`, type: "Directory" }));

/** The entries of a tree, one buffer each; folders first. */
export const entriesOf = ({ files, folders }: SourceTree, how: Packing): Buffer[] => [
  ...folders.map((folder) => folderBlocks(folder, how)),
  ...files.map((file) => fileBlocks(file, how)),
];

export const packed = (entries: readonly Buffer[]): Buffer => gzipSync(Buffer.concat([...entries, END]));

/** Entries that are rejected at any position; each has `bad` in its path. */
export const badEntry = (): fc.Arbitrary<Buffer> =>
  fc.oneof(
    fc
      .constantFrom("../bad", "/bad", "a/../../bad", "bad/..", "bad\\x", "C:/bad", "bad\u0007", `${"d/".repeat(64)}bad`)
      .map((path) => Buffer.concat([paxHeader({ path }), blocksOf({ path: "short", content: "x" })])),
    fc
      .constantFrom("SymbolicLink" as const, "Link" as const)
      .map((type) => blocksOf({ path: "bad", type, linkpath: "index.js" })),
    fc
      .constantFrom("CharacterDevice" as const, "BlockDevice" as const, "FIFO" as const)
      .map((type) => blocksOf({ path: "bad", type })),
    fc.constantFrom(..."SVMA").map((letter) => entryOfType(letter, { path: "bad", content: "x" })),
    fc.constant(blocksOf({ path: "bad", claimedSize: 513 * 1024 * 1024 })),
  );
