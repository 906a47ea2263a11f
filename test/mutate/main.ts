/**
 * `npm run mutate [-- FOLDER_OR_FILE...] [--force]`: mutates rules one by one and lists the mutants that no test of
 * core killed.
 */
import { statSync } from "node:fs";
import { availableParallelism } from "node:os";
import { relative, resolve } from "node:path";
import { parseArgs } from "node:util";
import { Stryker } from "@stryker-mutator/core";
import Table from "cli-table3";
import { boundOf, excludedFiles } from "./bounds.ts";
import { type FileScore, fileScores, type Mutant, survivingMutants, totalScore } from "./score.ts";

const { values, positionals } = parseArgs({
  options: {
    /** Tests every mutant again; the default tests only mutants whose code or tests changed since the last run. */
    force: { type: "boolean", default: false },
    concurrency: { type: "string", default: String(availableParallelism()) },
  },
  allowPositionals: true,
});
const targets = (positionals.length > 0 ? positionals : ["core/domain"]).map((path) => relative(".", resolve(path)));
const isWithin = (file: string): boolean => targets.some((target) => file === target || file.startsWith(`${target}/`));

// Kills must be reproducible, so properties start from one seed. A few runs find a mutant as reliably as many.
process.env["PORTSIDE_SEED"] ??= "20261121";
process.env["PORTSIDE_RUNS"] ??= "0.2";

const begun = performance.now();
const results = await new Stryker({
  testRunner: "vitest",
  plugins: ["@stryker-mutator/vitest-runner"],
  vitest: { configFile: "test/mutate/vitest.config.ts", pool: "threads", related: true },
  coverageAnalysis: "perTest",
  mutate: [
    ...targets.map((target) => (statSync(target).isDirectory() ? `${target}/**/*.ts` : target)),
    ...excludedFiles.map((file) => `!${file}`),
  ],
  concurrency: Number(values.concurrency),
  incremental: true,
  incrementalFile: "reports/mutation/incremental.json",
  force: values.force,
  tempDirName: "reports/mutation/sandbox",
  cleanTempDir: "always",
  // Biome would treat a second biome.json in the copy as a nested project. Stryker reads tsconfig.json with a
  // TypeScript before 7.
  ignorePatterns: ["/*.json", "!/package.json", "/examples", "/dist", "/reports"],
  disableTypeChecks: false,
  // Stryker detects endless loops by counting. The timeout only ends other hangs, on the slowest machine.
  timeoutMS: 10_000,
  timeoutFactor: 2,
  reporters: ["progress-append-only"],
}).runMutationTest();

const mutants: Mutant[] = results
  .map((result) => ({ ...result, fileName: relative(".", resolve(result.fileName)) }))
  .filter(({ fileName }) => isWithin(fileName));

for (const { fileName, location, status, mutatorName, replacement } of survivingMutants(mutants))
  console.log(
    `${fileName}:${location.start.line}:${location.start.column} ${status} ${mutatorName}: ${replacement?.replaceAll(/\s+/g, " ")}`,
  );

const row = (one: FileScore, bound: string): string[] => [
  one.file,
  String(one.killed),
  String(one.timedOut),
  String(one.survived),
  String(one.uncovered),
  one.score.toFixed(1),
  bound,
];
const table = new Table({
  head: ["file", "killed", "timed out", "survived", "no coverage", "score", "at least"],
  style: { head: [], border: [], compact: true },
  colAligns: ["left", "right", "right", "right", "right", "right", "right"],
});
const scores = fileScores(mutants);
for (const one of scores) table.push(row(one, String(boundOf(one.file))));
table.push(row(totalScore(mutants), ""));
console.log(table.toString());
console.log(`${mutants.length} mutants in ${((performance.now() - begun) / 60_000).toFixed(1)} minutes`);

const weak = scores.filter(({ file, score }) => score < boundOf(file));
if (weak.length > 0) {
  console.log(`Below their bounds: ${weak.map(({ file }) => file).join(", ")}`);
  process.exitCode = 1;
}
