/** `SourceWatch` reports every save, however a program saves. It does not watch folders that are not packed. */
import { execFileSync } from "node:child_process";
import { appendFileSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { sourceFolders } from "../../../../hosts/cli/deploy/source-files.ts";
import { SourceWatch } from "../../../../hosts/cli/deploy/source-watch.ts";
import { type Folder, folderWith } from "../../../support/archives/folders.ts";

/** Watches a folder and collects the reported paths. */
const watching = async (folder: Folder) => {
  const stop = new AbortController();
  const told = new Set<string>();
  const listed: string[][] = [];
  const failures: string[] = [];
  const watch = new SourceWatch({
    list: async () => {
      const folders = await sourceFolders(folder.path);
      listed.push(folders.map(({ path }) => path.slice(folder.path.length + 1)));
      return folders;
    },
    changed: (paths) => {
      for (const path of paths) told.add(path.slice(folder.path.length + 1));
    },
    failed: (message) => failures.push(message),
    signal: stop.signal,
    settleMs: 1,
  });
  expect(await watch.update()).toBe(true);
  const until = (name: string) => expect.poll(() => told.has(name), { interval: 1 }).toBe(true);
  let barriers = 0;
  return {
    until,
    failures,
    told,
    folders: () => listed.at(-1),
    /** Waits for the report of a new file, then drops all reports. The system reports changes in order. */
    async forget() {
      const name = `barrier-${barriers++}`;
      writeFileSync(join(folder.path, name), "");
      await until(name);
      told.clear();
    },
    [Symbol.dispose]: () => stop.abort(),
  };
};

const git = (folder: Folder, ...args: string[]): void =>
  void execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", ...args], {
    cwd: folder.path,
    stdio: "ignore",
  });

type Save = (folder: Folder, turn: number) => string;

const FILE = "src/server.js";

const saves: readonly Save[] = [
  function inPlace({ path }, turn) {
    writeFileSync(join(path, FILE), `in place ${turn}`);
    return FILE;
  },
  function byRename({ path }, turn) {
    writeFileSync(join(path, "src/.server.js.tmp"), `by rename ${turn}`);
    renameSync(join(path, "src/.server.js.tmp"), join(path, FILE));
    return FILE;
  },
  function bySed({ path }, turn) {
    execFileSync("sed", ["-i", `1s/.*/by sed ${turn}/`, join(path, FILE)]);
    return FILE;
  },
  function byGit(folder, turn) {
    git(folder, "checkout", "--quiet", turn % 2 === 0 ? "one" : "two", "--", FILE);
    return FILE;
  },
  function byDeleting({ path }, turn) {
    rmSync(join(path, FILE));
    writeFileSync(join(path, FILE), `deleted before ${turn}`);
    return FILE;
  },
  function inNewFolder({ path }, turn) {
    // The new folder replaces an old one at the same path.
    rmSync(join(path, "lib"), { recursive: true, force: true });
    mkdirSync(join(path, "lib", "inner"), { recursive: true });
    writeFileSync(join(path, "lib", "inner", "new.js"), String(turn));
    return "lib";
  },
];

test("reports each of 100 saves of six kinds", async () => {
  using folder = folderWith({ [FILE]: "one\n" });
  git(folder, "init", "--quiet", "--initial-branch", "one");
  git(folder, "add", ".");
  git(folder, "commit", "--quiet", "--message", "one");
  git(folder, "checkout", "--quiet", "-b", "two");
  writeFileSync(join(folder.path, FILE), "two\n");
  git(folder, "commit", "--quiet", "--all", "--message", "two");
  using watch = await watching(folder);
  for (let turn = 0; turn < 100; turn++) {
    const save = saves[turn % saves.length] as Save;
    await watch.until(save(folder, turn));
    await watch.forget();
    if (save.name !== "inNewFolder") continue;
    // The new folder is watched as well.
    appendFileSync(join(folder.path, "lib/inner/new.js"), "!");
    await watch.until("lib/inner/new.js");
    await watch.forget();
  }
  expect(watch.failures).toEqual([]);
});

test("does not watch folders that are not packed, and skips ignored files", async () => {
  using folder = folderWith({
    ".gitignore": "*.log\nout/\n",
    "server.js": "",
    "src/index.js": "",
    "node_modules/dep/index.js": "",
    ".git/index": "",
    ".portside/state": "",
    "out/page.html": "",
  });
  using watch = await watching(folder);
  expect(watch.folders()).toEqual(["", "src"]);
  folder.write({ "a.log": "", ".env": "", "node_modules/dep/index.js": "1", ".git/index": "1", "out/page.html": "1" });
  folder.write({ "server.js": "1" });
  await watch.until("server.js");
  expect([...watch.told]).toEqual(["server.js"]);
  folder.write({ ".gitignore": "*.log\n" });
  await watch.until(".gitignore");
  await watch.forget();
  expect(watch.folders()).toEqual(["", "out", "src"]);
  folder.write({ "out/page.html": "2" });
  await watch.until("out/page.html");
});

test("reports why the source cannot be listed, and continues once it can", async () => {
  using parent = folderWith({ "app/server.js": "" });
  const folder = { ...parent, path: join(parent.path, "app") };
  using watch = await watching(folder);
  symlinkSync("/etc/passwd", join(folder.path, "link"));
  await expect
    .poll(() => watch.failures)
    .toEqual([expect.stringContaining("'link' is a link to a path outside the source")]);
  rmSync(join(folder.path, "link"));
  await watch.until("link");
  rmSync(folder.path, { recursive: true });
  await expect.poll(() => watch.failures.at(-1)).toBe(`'${folder.path}' does not exist.`);
  expect(dirname(folder.path)).toBe(parent.path);
  mkdirSync(folder.path);
  await watch.until("server.js");
  await watch.forget();
});
