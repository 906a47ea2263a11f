/**
 * `npm run coverage`: checks that docs/contributing/testing.md has a reason for each branch of core that no test takes.
 * vitest.config.ts has the minimum share of covered branches.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { relative } from "node:path";
import { differences, type FileCoverage, namedBranches, uncoveredBranches } from "./uncovered.ts";

// A fixed seed, so that every run covers the same branches.
const { PORTSIDE_SEED = "20261121" } = process.env;

const ran = spawnSync(
  process.execPath,
  ["node_modules/vitest/vitest.mjs", "run", "--project", "rules", "--project", "core", "--coverage.enabled"],
  { stdio: "inherit", env: { ...process.env, PORTSIDE_SEED } },
);
if (ran.status !== 0) process.exit(ran.status ?? 1);

const report = JSON.parse(readFileSync("reports/coverage/coverage-final.json", "utf8")) as Record<string, FileCoverage>;
const branches = Object.values(report).flatMap((one) =>
  uncoveredBranches(one, relative(".", one.path), readFileSync(one.path, "utf8")),
);
const wrong = differences(branches, namedBranches(readFileSync("docs/contributing/testing.md", "utf8")));
for (const words of wrong) console.error(words);
console.log(`${branches.length} branches are not covered; docs/contributing/testing.md has the reasons`);
if (wrong.length > 0) process.exitCode = 1;
