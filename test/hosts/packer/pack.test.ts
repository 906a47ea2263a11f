/** What a packed source contains: the files that the rules select, their modes, and the same bytes for the same files. */
import { gunzipSync } from "node:zlib";
import { Parser, type ReadEntry } from "tar";
import { describe, expect, test } from "vitest";
import { MiB } from "../../../core/domain/accounts/limits.ts";
import { treeOfTexts } from "../../../hosts/packer/file-tree.ts";
import { packSource } from "../../../hosts/packer/pack.ts";
import { PackError, type SourceTree } from "../../../hosts/packer/source-tree.ts";

interface Packed {
  readonly path: string;
  readonly mode: string;
  readonly text: string;
}

/** Reads an archive with another implementation of the format. */
const readArchive = async (archive: Uint8Array): Promise<Packed[]> => {
  const found: Promise<Packed>[] = [];
  const onReadEntry = (entry: ReadEntry) => {
    found.push(
      entry.concat().then((content) => ({
        path: entry.path,
        mode: (entry.mode ?? 0).toString(8),
        text: String(content),
      })),
    );
  };
  const parser = new Parser({ strict: true, onReadEntry });
  const ended = new Promise((resolve, reject) => parser.on("end", resolve).on("error", reject));
  parser.end(gunzipSync(archive));
  await ended;
  return Promise.all(found);
};

const pack = async (tree: SourceTree): Promise<Buffer> => Buffer.concat(await Array.fromAsync(packSource(tree)));

const contentsOf = async (files: Readonly<Record<string, string>>): Promise<Packed[]> =>
  readArchive(await pack(treeOfTexts(files)));

const pathsOf = async (files: Readonly<Record<string, string>>): Promise<string[]> =>
  (await contentsOf(files)).map(({ path }) => path);

/** Returns a tree of one file whose content may not match its stated size. */
const treeOf = (size: number, chunks: readonly string[]): SourceTree => ({
  readFolder: async (path) => ({ id: path, entries: [{ name: "file.log", kind: "file" }] }),
  openFile: async () => ({
    size,
    async *read() {
      for (const chunk of chunks) yield Buffer.from(chunk);
    },
  }),
});

describe("the files", () => {
  test("exclude what never belongs in a deploy", async () => {
    const files = {
      "server.js": "",
      ".env": "A=1",
      ".env.local": "A=1",
      ".envrc": "",
      "portside.json": "{}",
      "lib/portside.json": "{}",
      "lib/.env": "A=1",
      "node_modules/x/index.js": "",
      ".git/config": "",
    };
    expect(await pathsOf(files)).toEqual([".envrc", "lib/portside.json", "server.js"]);
  });

  test("exclude what an ignore file names, for its folder and the folders below", async () => {
    const files = {
      ".gitignore": "*.log\n/dist/\n",
      "lib/.portsideignore": "local.txt\n",
      "a.log": "",
      "dist/x.js": "",
      "lib/b.log": "",
      "lib/dist/y.js": "",
      "lib/local.txt": "",
      "lib/deep/local.txt": "",
      "local.txt": "",
    };
    expect(await pathsOf(files)).toEqual([".gitignore", "lib/.portsideignore", "lib/dist/y.js", "local.txt"]);
  });

  test("of an excluded folder are not read", async () => {
    const tree = treeOfTexts({ ".gitignore": "data/\n", "data/large.bin": "", "node_modules/x.js": "", "a.js": "" });
    const read: string[] = [];
    await pack({
      ...tree,
      readFolder: (path) => {
        read.push(path);
        return tree.readFolder(path);
      },
    });
    expect(read).toEqual([""]);
  });

  test("that are scripts or programs are executable, all others are not", async () => {
    const found = await contentsOf({
      "a-script": "#!/bin/sh\n",
      "b-program": "\u007fELF\u0002",
      "c.txt": "# no script",
      "d-empty": "",
      "e-short": "#!",
    });
    expect(found.map(({ path, mode }) => `${path} ${mode}`)).toEqual([
      ...["a-script 755", "b-program 755", "c.txt 644", "d-empty 644", "e-short 755"],
    ]);
  });

  test("are executable even if the first read returns less than the magic number", async () => {
    const [one] = await readArchive(await pack(treeOf(12, ["\u007f", "EL", "F", " program"])));
    expect(one).toEqual({ path: "file.log", mode: "755", text: "\u007fELF program" });
  });

  test("may have long paths, and names that are not ASCII", async () => {
    const long = `${"folder/".repeat(20)}${"n".repeat(120)}.txt`;
    const files = { [long]: "long", "größe.txt": "umlaut", "日本/語.txt": "kanji", "x.bin": "x".repeat(1025) };
    const found = await contentsOf(files);
    expect(Object.fromEntries(found.map(({ path, text }) => [path, text]))).toEqual(files);
  });
});

describe("a file that changes meanwhile", () => {
  test("is packed up to its first size if it grows", async () => {
    expect(await readArchive(await pack(treeOf(5, ["123", "45678"])))).toEqual([
      { path: "file.log", mode: "644", text: "12345" },
    ]);
  });

  test("is an error if it becomes shorter", async () => {
    await expect(pack(treeOf(9, ["12345"]))).rejects.toThrow(
      new PackError("'file.log' became shorter while it was packed. Try again."),
    );
  });

  test("is omitted if it was deleted", async () => {
    const tree = treeOfTexts({ "a.txt": "a", "b.txt": "b" });
    const gone: SourceTree = {
      ...tree,
      openFile: async (path) => (path === "a.txt" ? undefined : tree.openFile(path)),
    };
    expect((await readArchive(await pack(gone))).map(({ path }) => path)).toEqual(["b.txt"]);
  });
});

describe("the archive", () => {
  test("has the same bytes for the same files, in any order", async () => {
    const one = await pack(treeOfTexts({ "a.txt": "a", "b/c.txt": "c" }));
    expect(one.equals(await pack(treeOfTexts({ "b/c.txt": "c", "a.txt": "a" })))).toBe(true);
    expect(one.equals(await pack(treeOfTexts({ "b/c.txt": "d", "a.txt": "a" })))).toBe(false);
  });

  test("of a folder without files is an error", async () => {
    await expect(pack(treeOfTexts({ "node_modules/x.js": "" }))).rejects.toThrow("has no files to deploy");
  });

  test("is an error at the first file that exceeds a limit", async () => {
    await expect(pack(treeOf(513 * MiB, []))).rejects.toThrow(
      `The source cannot be packed: entry "file.log" is larger than 512Mi.`,
    );
  });

  test("reports its progress", async () => {
    const seen: string[] = [];
    const tree = treeOfTexts({ "a.txt": "a", "b.txt": "b" });
    await Array.fromAsync(packSource(tree, ({ done, total }) => seen.push(`${done}/${total}`)));
    expect(seen).toEqual(["0/2", "1/2", "2/2"]);
  });
});
