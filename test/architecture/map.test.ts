/** The map in docs/architecture.md matches the folders: a capability has the same folder name in every layer. */
import { existsSync, globSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, posix } from "node:path";
import { expect, test } from "vitest";
import { importedFiles } from "./layers.ts";

const page = readFileSync("docs/architecture.md", "utf8");

/** The rows of the Markdown table with this first header; each cell is its link's path from the root. */
const tableWith = (header: string): (readonly string[])[] => {
  const lines = page.slice(page.indexOf(`| ${header} |`)).split("\n");
  const rows = lines.slice(2, lines.indexOf(""));
  return rows.map((row) =>
    row
      .split("|")
      .slice(1, -1)
      .map((cell) => /\]\(([^)]+)\)/.exec(cell)?.[1])
      .flatMap((target) => (target === undefined ? [] : [posix.normalize(`docs/${target}`)])),
  );
};

const capabilities = ["deploy", "logs", "volumes", "secrets", "domains", "schedules", "sql", "usage", "accounts"];
const map = tableWith("| deploy");
const rooms = tableWith("folder").flat();

const foldersIn = (...patterns: string[]): string[] =>
  globSync(patterns).filter((path) => statSync(path).isDirectory());

/** The layers whose folders are capabilities or are listed separately. */
const layers = ["core/domain", "core/use-cases", "adapters/{memory,local,gcp,aws,cloud,shared}", "hosts/{http,cli}"];

test("each row of the map has a cell for every capability, and each link exists", () => {
  expect(map.length).toBeGreaterThanOrEqual(10);
  for (const row of map) expect(row).toHaveLength(capabilities.length);
  for (const target of [...map.flat(), ...rooms]) expect(existsSync(target), target).toBe(true);
});

test("each folder of a layer is in the map, or has a row in the second table", () => {
  const folders = foldersIn(...layers.map((layer) => `${layer}/*`));
  expect(folders.length).toBeGreaterThan(50);
  const known = new Set([...map.flat(), ...rooms]);
  expect(folders.filter((folder) => !known.has(folder))).toEqual([]);
});

test("a folder with a capability's name is in that capability's column", () => {
  for (const row of map)
    for (const [at, target] of row.entries()) {
      if (!target.endsWith(".ts")) expect(basename(target, ".md"), target).toBe(capabilities[at]);
    }
});

test("tests mirror the folders of their sources", () => {
  const mirrored = foldersIn("test/{core,adapters,hosts}/**");
  expect(mirrored.length).toBeGreaterThan(50);
  expect(mirrored.filter((folder) => !existsSync(folder.slice("test/".length)))).toEqual([]);
});

test("no folder has more than 20 files, except decisions and the innermost folders of the tests", () => {
  const files = globSync("{core,adapters,hosts,test,docs,examples}/**/*.*").filter(
    (path) => !path.startsWith("docs/decisions/") && statSync(path).isFile(),
  );
  const counts = Map.groupBy(files, (path) => dirname(path));
  const isLeaf = (folder: string): boolean => folder.startsWith("test/") && foldersIn(`${folder}/*`).length === 0;
  const crowded = [...counts].filter(([folder, inside]) => inside.length > 20 && !isLeaf(folder));
  expect(crowded.map(([folder, inside]) => `${folder}: ${inside.length}`)).toEqual([]);
});

/** Returns the path of an import cycle, or undefined if there is none. */
const cycleIn = (imports: ReadonlyMap<string, readonly string[]>): readonly string[] | undefined => {
  const done = new Set<string>();
  const visit = (file: string, path: readonly string[]): readonly string[] | undefined => {
    if (path.includes(file)) return [...path.slice(path.indexOf(file)), file];
    if (done.has(file)) return undefined;
    for (const next of imports.get(file) ?? []) {
      const circle = visit(next, [...path, file]);
      if (circle !== undefined) return circle;
    }
    done.add(file);
    return undefined;
  };
  for (const file of imports.keys()) {
    const circle = visit(file, []);
    if (circle !== undefined) return circle;
  }
  return undefined;
};

test("no import cycle, including type imports", () => {
  const files = globSync("{core,adapters,hosts,test,docs,examples}/**/*.ts");
  expect(cycleIn(new Map(files.map((file) => [file, importedFiles(file)])))).toBeUndefined();
  const seeded = new Map([
    ["a.ts", ["b.ts"]],
    ["b.ts", ["c.ts", "d.ts"]],
    ["d.ts", ["b.ts"]],
  ]);
  expect(cycleIn(seeded)).toEqual(["b.ts", "d.ts", "b.ts"]);
});

test("the targets of the table of moves exist", () => {
  const rows = readFileSync("docs/moves.tsv", "utf8").trim().split("\n").slice(1);
  expect(rows.length).toBeGreaterThan(900);
  const lost = rows
    .map((row) => row.split("\t")[1] as string)
    .filter((now) => now !== "(removed)" && !existsSync(join(now)));
  expect(lost).toEqual([]);
});

test("files that messages and pages name exist", () => {
  const texts = globSync(["{adapters,hosts}/**/*.ts", "docs/**/*.md", "*.md"]).map((file) =>
    readFileSync(file, "utf8"),
  );
  const named = texts.flatMap((text) =>
    [...text.matchAll(/node_modules\/portside\/([\w./-]*\w)/g)].map(([, path]) => path),
  );
  expect(named.length).toBeGreaterThanOrEqual(2);
  expect(named.filter((path) => !existsSync(path as string))).toEqual([]);
});
