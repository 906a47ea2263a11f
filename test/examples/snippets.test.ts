/** Runs the TypeScript of the documentation: each snippet as a program, in an empty folder. */
import { spawnSync } from "node:child_process";
import { globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

interface Snippet {
  readonly where: string;
  readonly code: string;
}

const snippets: readonly Snippet[] = ["README.md", ...globSync("docs/**/*.md").sort()].flatMap((file) => {
  const text = readFileSync(file, "utf8");
  return [...text.matchAll(/^```ts\n(.*?)^```$/gms)].map((match) => ({
    where: `${file}:${text.slice(0, match.index).split("\n").length}`,
    code: match[1] as string,
  }));
});

let folder: string;
const isSuite = ({ code }: Snippet): boolean => code.includes("contractTests(");
const fileOf = (snippet: Snippet): string =>
  join(folder, String(snippets.indexOf(snippet)), isSuite(snippet) ? "snippet.test.ts" : "snippet.ts");

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "portside-snippets-"));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  symlinkSync(resolve("node_modules"), join(folder, "node_modules"));
  for (const snippet of snippets) {
    mkdirSync(dirname(fileOf(snippet)));
    writeFileSync(fileOf(snippet), snippet.code);
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const run = (snippet: Snippet) => {
  const file = fileOf(snippet);
  const cwd = dirname(file);
  const { NODE_OPTIONS: _options, VITEST: _vitest, ...env } = process.env;
  const vitest = [resolve("node_modules/vitest/vitest.mjs"), "run", "--root", cwd];
  const args = isSuite(snippet)
    ? [...vitest, "--config", resolve("test/examples/vitest.config.ts")]
    : ["--import", resolve("test/examples/from-source.ts"), file];
  return spawnSync(process.execPath, args, { cwd, env, encoding: "utf8", timeout: 100_000 });
};

test("finds snippets", () => expect(snippets.length).toBeGreaterThan(10));

test("the snippets type-check", () => {
  const config = { extends: resolve("tsconfig.json"), compilerOptions: { noUnusedLocals: false }, include: ["*/*.ts"] };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const tsc = [resolve("node_modules/typescript/bin/tsc"), "-p", folder];
  const { status, stdout, stderr } = spawnSync(process.execPath, tsc, { encoding: "utf8" });
  expect(status, stdout + stderr).toBe(0);
});

test.each(snippets)("$where", (snippet) => {
  const { status, stdout, stderr } = run(snippet);
  expect(status, stdout + stderr).toBe(0);
});
