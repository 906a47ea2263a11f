// Reruns each failed test file once, alone, so that one flaky test does not reject a change.
//   node .ci/rerun-failed.mjs RECORD FLAKY COMMAND [ARGUMENT...]
// RECORD is the file that test/support/vitest/failed-files-reporter.ts wrote. FLAKY collects the tests that passed alone,
// one per line. A CI run may have two such files. COMMAND gets the file as its last argument. Exits with 0 if all files
// passed alone.
import { spawnSync } from "node:child_process";
import { appendFileSync, readFileSync } from "node:fs";

const MAX_FLAKY_FILES = 2;
const SECONDS_PER_FILE = 300;

const [recordPath, flakyPath, ...command] = process.argv.slice(2);

const fail = (message) => {
  console.log(`::: no second run: ${message}`);
  process.exit(1);
};

const textOf = (path) => {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if (error.code === "ENOENT") return "";
    throw error;
  }
};

const record = textOf(recordPath);
if (record === "") fail("vitest did not finish.");
const { files, other } = JSON.parse(record);
if (other.length > 0) fail(`failures outside of test files:\n${other.join("\n")}`);
if (files.length === 0) fail("no test file failed.");
const earlier = textOf(flakyPath).split("\n").length - 1;
if (earlier + files.length > MAX_FLAKY_FILES)
  fail(`${files.length} test files failed here, ${earlier} before; at most ${MAX_FLAKY_FILES} may be flaky.`);

const env = { ...process.env, PORTSIDE_FAILED_FILES: "" };
for (const { file, tests } of files) {
  console.log(`::: second run, alone: ${file}`);
  const bounded = ["--kill-after=20", String(SECONDS_PER_FILE), ...command, file];
  const { status } = spawnSync("timeout", bounded, { stdio: "inherit", env });
  if (status !== 0) fail(`${file} failed alone as well (${status}).`);
  appendFileSync(flakyPath, `${[file, ...tests].join(" > ").replaceAll("\n", " ")}\n`);
}
