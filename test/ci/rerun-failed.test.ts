/** CI runs each failed test file once more, alone: `.ci/rerun-failed.mjs` and the reporter that it reads. */
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { type Folder, folderWith } from "../support/archives/folders.ts";

const repository = join(import.meta.dirname, "..", "..");
const vitest = [join(repository, "node_modules/vitest/vitest.mjs"), "run"];

/** A project with tests that pass, fail once, throw after their end, skip themselves, or end their process. */
const project = (...names: string[]): Folder => {
  const folder = folderWith();
  const tests: Record<string, string> = {
    passes: `test("is well", () => {});`,
    flaky: `test("is unlucky", () => {
      if (existsSync("marker")) return;
      writeFileSync("marker", "");
      throw new Error("the first time");
    });`,
    throws: `test("throws late", async () => {
      setTimeout(() => { throw new Error("late"); });
      await new Promise((resolve) => setTimeout(resolve, 100));
    });`,
    skips: `test("lacks a tool", (context) => context.skip("it is not installed"));`,
    endsOnce: `test("ends its process once", () => {
      if (existsSync("marker")) return;
      writeFileSync("marker", "");
      return new Promise(() => process.kill(process.pid, "SIGTRAP"));
    });`,
    ends: `test("ends its process", () => new Promise(() => process.kill(process.pid, "SIGKILL")));`,
  };
  const imports = `import { existsSync, writeFileSync } from "node:fs"; import { test } from "vitest";`;
  const reporter = join(repository, "test/support/vitest/failed-files-reporter.ts");
  folder.write({
    "vitest.config.ts": `export default { test: { pool: "forks", reporters: [${JSON.stringify(reporter)}] } };`,
    ...Object.fromEntries(names.map((name) => [`${name}.test.ts`, imports + tests[name]])),
  });
  symlinkSync(join(repository, "node_modules"), join(folder.path, "node_modules"));
  return folder;
};

const run = (folder: Folder, args: readonly string[]) => {
  const env = { ...process.env, PORTSIDE_FAILED_FILES: join(folder.path, "failed.json"), PORTSIDE_TEST_ALL: "" };
  return spawnSync(process.execPath, args, { cwd: folder.path, env, encoding: "utf8" });
};

const rerun = (folder: Folder, ...command: string[]) => {
  const files = [join(folder.path, "failed.json"), join(folder.path, "flaky")];
  const { status, stdout } = run(folder, [join(repository, ".ci/rerun-failed.mjs"), ...files, ...command]);
  const flaky = existsSync(files[1] as string) ? readFileSync(files[1] as string, "utf8") : "";
  return { status, stdout, flaky };
};

test("a file that fails once and passes alone is reported as flaky", () => {
  using folder = project("passes", "flaky");
  const first = run(folder, vitest);
  expect(first.status, first.stderr).toBe(1);
  expect(rerun(folder, process.execPath, ...vitest)).toMatchObject({
    status: 0,
    flaky: "flaky.test.ts > is unlucky\n",
  });
});

test("the record has the failed files and tests, and the files not run", () => {
  using folder = project("passes", "flaky", "throws", "skips", "ends");
  expect(run(folder, vitest).status).toBe(1);
  const { files, other, notRun } = JSON.parse(readFileSync(join(folder.path, "failed.json"), "utf8"));
  expect(files).toEqual(
    expect.arrayContaining([
      { file: "flaky.test.ts", tests: ["is unlucky"] },
      { file: "throws.test.ts", tests: [] },
      { file: "ends.test.ts", tests: [] },
    ]),
  );
  expect(files).toHaveLength(3);
  expect(other).toEqual([]);
  expect(notRun).toEqual(["skips.test.ts"]);
});

test("a file that ends its process once and passes alone is reported as flaky", () => {
  using folder = project("endsOnce");
  expect(run(folder, vitest).status).toBe(1);
  expect(rerun(folder, process.execPath, ...vitest)).toMatchObject({ status: 0, flaky: "endsOnce.test.ts\n" });
});

test("failures outside of test files permit no second run", () => {
  using folder = folderWith({ "failed.json": JSON.stringify({ files: [], other: ["Unhandled error: late"] }) });
  expect(rerun(folder, "true")).toMatchObject({ status: 1, flaky: "" });
  expect(rerun(folder, "true").stdout).toContain("failures outside of test files");
});

const recorded = (files: readonly string[], other: readonly string[] = []): string =>
  JSON.stringify({ files: files.map((file) => ({ file, tests: [] })), other });

test.each([
  ["two files pass alone", recorded(["a", "b"]), "", "true", 0, "a\nb\n"],
  ["three files failed", recorded(["a", "b", "c"]), "", "true", 1, ""],
  ["a third file failed in a later stage", recorded(["c"]), "a\nb\n", "true", 1, "a\nb\n"],
  ["the file fails alone", recorded(["a"]), "", "false", 1, ""],
  ["no file failed", recorded([]), "", "true", 1, ""],
  ["vitest did not finish", "", "", "true", 1, ""],
])("if %s", (_what, record, earlier, command, status, flaky) => {
  using folder = folderWith({ "failed.json": record, flaky: earlier });
  expect(rerun(folder, command)).toMatchObject({ status, flaky });
});
