/** Changes that services make in the folders of their volumes: links, pipes, odd names, deep and empty folders. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { descend, openRoot } from "../../../../adapters/local/tenant-files/folder.ts";
import type { ObjectPath } from "../../../../core/domain/volumes/object-path.ts";
import { folderWith } from "../../../support/archives/folders.ts";
import { serveObjects, type TestStorage } from "../../../support/providers/local-objects.ts";

const listed = async ({ objects }: TestStorage): Promise<string[]> =>
  (await objects.list("vol-test", { prefix: "", limit: 1000 })).objects.map(({ path }) => path);

test("lists only files with valid object names", async () => {
  using folder = folderWith({ "outside.txt": "secret" });
  await using storage = await serveObjects(folder.path);
  const at = (name: string) => join(storage.folder, name);
  writeFileSync(at("plain"), "plain");
  mkdirSync(at("empty/folders/only"), { recursive: true });
  symlinkSync(join(folder.path, "outside.txt"), at("link"));
  symlinkSync("plain", at("link-inside"));
  execFileSync("mkfifo", [at("pipe")]);
  writeFileSync(at("back\\slash"), "");
  writeFileSync(at("new\nline"), "");
  writeFileSync(Buffer.concat([Buffer.from(at("latin-")), Buffer.from([0xe9])]), "");
  writeFileSync(at("replacement-\ufffd"), "a character like any other");
  expect(await listed(storage)).toEqual(["plain", "replacement-\ufffd"]);
  for (const path of ["link", "link-inside", "pipe", "empty", "empty/folders"])
    expect((await fetch(storage.url("GET", path))).status).toBe(404);
});

test("lists only real folders with valid names, including empty ones", async () => {
  using folder = folderWith({ "outside/secret.txt": "secret" });
  await using storage = await serveObjects(folder.path);
  const at = (name: string) => join(storage.folder, name);
  for (const name of ["full/deep", "empty", "back\\slash", "new\nline"]) mkdirSync(at(name), { recursive: true });
  writeFileSync(at("full/deep/file"), "");
  writeFileSync(at("file"), "");
  symlinkSync(join(folder.path, "outside"), at("link"));
  const list = async (prefix: string) => {
    const page = await storage.objects.list("vol-test", { prefix, delimiter: "/", limit: 10 });
    return [...page.objects.map(({ path }) => path), ...page.folders];
  };
  expect(await list("")).toEqual(["file", "empty/", "full/"]);
  expect(await list("full/")).toEqual(["full/deep/"]);
  for (const prefix of ["empty/", "link/", "link"]) expect(await list(prefix)).toEqual([]);
});

test("a PUT replaces a link, and does not follow it", async () => {
  using folder = folderWith({ "outside.txt": "secret", "elsewhere/kept": "kept" });
  await using storage = await serveObjects(folder.path);
  symlinkSync(join(folder.path, "outside.txt"), join(storage.folder, "link"));
  symlinkSync(join(folder.path, "elsewhere"), join(storage.folder, "folder"));
  expect((await storage.put("link", "mine")).ok).toBe(true);
  expect(readFileSync(join(folder.path, "outside.txt"), "utf8")).toBe("secret");
  expect((await storage.put("folder/kept", "mine")).status).toBe(409);
  expect((await fetch(storage.url("GET", "folder/kept"))).status).toBe(404);
  expect(await storage.objects.remove("vol-test", "folder/kept" as ObjectPath)).toBe(false);
  expect(readFileSync(join(folder.path, "elsewhere/kept"), "utf8")).toBe("kept");
  expect(await listed(storage)).toEqual(["link"]);
});

test("does not follow a folder that becomes a link while it is used", async () => {
  using folder = folderWith({ "elsewhere/secret": "secret" });
  await using storage = await serveObjects(folder.path);
  const [real, aside] = [join(storage.folder, "folder"), join(storage.folder, "aside")];
  mkdirSync(real);
  writeFileSync(join(real, "mine"), "mine");
  let over = false;
  const flip = async () => {
    while (!over) {
      renameSync(real, aside);
      symlinkSync(join(folder.path, "elsewhere"), real);
      await turn();
      rmSync(real);
      renameSync(aside, real);
      await turn();
    }
  };
  const flipping = flip();
  const seen = new Set<string>();
  for (let round = 0; round < 300; round++) {
    const found = await storage.objects.find("vol-test", "folder/secret" as ObjectPath);
    await found?.close();
    if (found !== undefined) seen.add("found");
    for (const path of await listed(storage)) seen.add(path);
    await storage.objects.remove("vol-test", "folder/secret" as ObjectPath);
  }
  over = true;
  await flipping;
  expect([...seen].filter((path) => path.includes("secret") || path === "found")).toEqual([]);
  expect(readFileSync(join(folder.path, "elsewhere/secret"), "utf8")).toBe("secret");
});

test("an open folder stays the opened one, even if its path changes later", async () => {
  using folder = folderWith({ "volume/sub/file": "mine", "elsewhere/file": "theirs" });
  await using root = await openRoot(join(folder.path, "volume"));
  await using sub = await descend(root, ["sub"], false);
  renameSync(join(folder.path, "volume/sub"), join(folder.path, "volume/moved"));
  symlinkSync(join(folder.path, "elsewhere"), join(folder.path, "volume/sub"));
  if (process.platform === "linux") expect(readFileSync(sub.at("file"), "utf8")).toBe("mine");
  await expect(descend(root, ["sub"], true)).rejects.toThrow(/is not a folder/);
});
