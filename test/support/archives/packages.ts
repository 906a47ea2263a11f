/**
 * Sources that contain npm packages from this checkout, because tests have no registry. The builder recreates
 * `node_modules`, so the packages are in another folder, next to the server that imports them.
 */
import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { type Entry, tarGz } from "./archives.ts";

const needed = /\.(js|cjs|mjs|json|proto)$/;

/** The folder of an installed package, resolved from a package that needs it. */
const folderOf = (name: string, from: string): string => {
  for (const folder of createRequire(join(from, "package.json")).resolve.paths(name) ?? []) {
    try {
      readFileSync(join(folder, name, "package.json"));
      return join(folder, name);
    } catch {
      // Not in this folder: the loop tries the parent.
    }
  }
  throw new Error(`the package ${name} is not installed`);
};

const filesOf = (folder: string): string[] =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" ? [] : filesOf(path);
    return needed.test(entry.name) ? [path] : [];
  });

const collect = (name: string, from: string, packed: Map<string, readonly Entry[]>): void => {
  if (packed.has(name)) return;
  const folder = folderOf(name, from);
  packed.set(
    name,
    filesOf(folder).map((path) => ({
      path: join("app", "node_modules", name, path.slice(folder.length + 1)),
      content: readFileSync(path),
    })),
  );
  const { dependencies = {} } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as {
    dependencies?: Record<string, string>;
  };
  for (const dependency of Object.keys(dependencies)) collect(dependency, folder, packed);
};

/** A Node source whose server imports installed packages, unmodified. */
export const packagedSource = (server: string, ...packages: readonly string[]): Buffer => {
  const packed = new Map<string, readonly Entry[]>();
  for (const name of packages) collect(name, dirname(dirname(import.meta.dirname)), packed);
  const manifest = { name: "test", private: true, type: "module", scripts: { start: "node app/server.js" } };
  return tarGz([
    { path: "package.json", content: JSON.stringify(manifest) },
    { path: "app/server.js", content: server },
    ...[...packed.values()].flat(),
  ]);
};
