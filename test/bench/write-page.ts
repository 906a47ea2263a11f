/** `npm run bench:page -- FILE`: writes docs/performance.md from the results of `npm run bench -- --json FILE`. */
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import type { Outcome } from "./bench.ts";
import { page } from "./report.ts";

const PAGE = "docs/performance.md";

const [file] = process.argv.slice(2);
if (file === undefined) {
  console.error("Missing result file. Run npm run bench:page -- FILE.");
  process.exit(2);
}
const before = existsSync(PAGE) ? readFileSync(PAGE, "utf8") : "";
writeFileSync(PAGE, page(JSON.parse(readFileSync(file, "utf8")) as Outcome[], before));
