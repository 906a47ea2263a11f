/** Resolves `portside` and its subpaths to the sources of this repository, from the package's exports. */
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const root = new URL("../../", import.meta.url);
const { exports } = JSON.parse(readFileSync(new URL("package.json", root), "utf8")) as {
  exports: Readonly<Record<string, string | { readonly default: string }>>;
};

/** Files by specifier. */
export const sources: ReadonlyMap<string, string> = new Map(
  Object.entries(exports).flatMap(([path, target]): [string, string][] => {
    if (typeof target === "string") return [];
    const file = target.default.replace("./dist/", "").replace(/\.js$/, ".ts");
    return [[`portside${path.slice(1)}`, fileURLToPath(new URL(file, root))]];
  }),
);
