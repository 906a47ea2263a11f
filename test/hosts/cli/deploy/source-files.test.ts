/** Which files of a folder are packed, and which never are. */
import { mkdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { list } from "tar";
import { describe, expect, test } from "vitest";
import { packFolder } from "../../../../hosts/cli/deploy/pack.ts";
import { openSource } from "../../../../hosts/cli/deploy/source-files.ts";
import { CommandError } from "../../../../hosts/cli/terminal/io.ts";
import { walkSource } from "../../../../hosts/packer/source-tree.ts";
import { folderWith } from "../../../support/archives/folders.ts";

const sourceFiles = async (folder: string): Promise<readonly string[]> =>
  (await walkSource(await openSource(folder))).files;

const packedBytes = async (folder: string): Promise<Buffer> => {
  await using packed = await packFolder(folder);
  return Buffer.concat(await Array.fromAsync(packed.open()));
};

describe("files", () => {
  test("are all files of the folder except those that never belong in a deploy", async () => {
    using folder = folderWith({
      "server.js": "",
      "lib/deep/file.txt": "",
      ".gitignore": "",
      ".env": "SECRET=1",
      ".env.production": "SECRET=1",
      "lib/.env.local": "SECRET=1",
      ".envrc-like": "",
      "portside.json": "{}",
      "lib/portside.json": "{}",
      "node_modules/x/index.js": "",
      "lib/node_modules/y.js": "",
      ".git/config": "",
      ".portside/state.sqlite": "",
    });
    expect(await sourceFiles(folder.path)).toEqual([
      ".envrc-like",
      ".gitignore",
      "lib/deep/file.txt",
      "lib/portside.json",
      "server.js",
    ]);
  });

  test("are excluded by .gitignore and .portsideignore of every folder", async () => {
    using folder = folderWith({
      ".gitignore": "*.log\n/dist/\n!keep.log\n",
      ".portsideignore": "docs\n",
      "a.log": "",
      "keep.log": "",
      "dist/x.js": "",
      "lib/dist/y.js": "",
      "docs/page.md": "",
      "lib/.gitignore": "local.txt\n",
      "lib/local.txt": "",
      "local.txt": "",
    });
    expect(await sourceFiles(folder.path)).toEqual([
      ".gitignore",
      ".portsideignore",
      "keep.log",
      "lib/.gitignore",
      "lib/dist/y.js",
      "local.txt",
    ]);
  });
});

describe("links", () => {
  test("to targets within the folder are packed as their targets", async () => {
    using folder = folderWith({ "real/file.txt": "content" });
    symlinkSync("real", join(folder.path, "linked"));
    symlinkSync("real/file.txt", join(folder.path, "one.txt"));
    expect(await sourceFiles(folder.path)).toEqual(["linked/file.txt", "one.txt", "real/file.txt"]);
    const seen: string[] = [];
    using out = folderWith({ "source.tar.gz": "" });
    writeFileSync(join(out.path, "source.tar.gz"), await packedBytes(folder.path));
    await list({
      file: join(out.path, "source.tar.gz"),
      onReadEntry: (entry) => seen.push(`${entry.type} ${entry.path} ${entry.size}`),
    });
    expect(seen).toEqual(["File linked/file.txt 7", "File one.txt 7", "File real/file.txt 7"]);
  });

  test.each([
    ["out of the folder", "../outside.txt"],
    ["to an absolute path outside", "/etc/hostname"],
    ["to nothing", "missing.txt"],
    ["to one of their parent folders", "."],
  ])("%s are rejected by name", async (_what, target) => {
    using folder = folderWith({ "inner/file.txt": "", "outside.txt": "" });
    const source = join(folder.path, "inner");
    symlinkSync(target, join(source, "link"));
    await expect(sourceFiles(source)).rejects.toThrow("'link'");
  });

  test("that are ignored cause no error", async () => {
    using folder = folderWith({ ".portsideignore": "link\n", "file.txt": "" });
    symlinkSync("/etc/hostname", join(folder.path, "link"));
    expect(await sourceFiles(folder.path)).toEqual([".portsideignore", "file.txt"]);
  });
});

describe("the archive", () => {
  test("has the same bytes if the files are the same", async () => {
    const files = { "b.txt": "b", "a/c.txt": "c", "@odd name": "x" };
    using one = folderWith(files);
    using two = folderWith(files);
    utimesSync(join(two.path, "b.txt"), new Date(1e12), new Date(1e12));
    expect((await packedBytes(one.path)).equals(await packedBytes(two.path))).toBe(true);
    two.write({ "b.txt": "other" });
    expect((await packedBytes(one.path)).equals(await packedBytes(two.path))).toBe(false);
  });

  test("of an empty folder is rejected", async () => {
    using folder = folderWith();
    mkdirSync(join(folder.path, "empty"));
    await expect(packFolder(folder.path)).rejects.toThrow("has no files to deploy");
  });

  test("of a folder that does not exist is rejected", async () => {
    await expect(packFolder("/nonexistent")).rejects.toThrow(new CommandError("'/nonexistent' does not exist."));
  });
});
