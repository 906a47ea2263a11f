/** What a file tree is, entry by entry, so that a change shows and can be named. */
import { createHash } from "node:crypto";
import { lstatSync, readdirSync, readFileSync, readlinkSync, type Stats } from "node:fs";
import { join } from "node:path";

/** `kind`: the type, mode and owner only, because the content changes by itself. */
export type Depth = "all" | "kind" | "nothing";

const contentOf = (path: string, stats: Stats): string => {
  if (stats.isSymbolicLink()) return readlinkSync(path);
  return stats.isFile() ? createHash("sha256").update(readFileSync(path)).digest("hex") : "";
};

/** The entries of the tree by their paths from its root. */
export const fingerprint = (root: string, depthOf: (path: string) => Depth = () => "all"): Map<string, string> => {
  const found = new Map<string, string>();
  const visit = (path: string): void => {
    const depth = depthOf(path);
    if (depth === "nothing") return;
    const at = join(root, path);
    const stats = lstatSync(at);
    const kind = `${stats.mode.toString(8)} ${stats.uid}`;
    found.set(path, depth === "kind" ? kind : `${kind} ${contentOf(at, stats)}`);
    if (stats.isDirectory()) for (const name of readdirSync(at)) visit(join(path, name));
  };
  visit("");
  return found;
};

/** The paths of which one tree has another entry than the other, or none. */
export const changedPaths = (before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] =>
  [...new Set([...before.keys(), ...after.keys()])].filter((path) => before.get(path) !== after.get(path));
