/**
 * Writes the failed test files to the file that `PORTSIDE_FAILED_FILES` names. CI runs those files once more, alone
 * (`.ci/rerun-failed.mjs`). `other` has every failure that rerunning a file cannot settle. `notRun` has the files with
 * skipped tests, which CI runs when everything is installed.
 */
import { writeFileSync } from "node:fs";
import { relative } from "node:path";
import type { SerializedError } from "vitest";
import type { Reporter, TestModule, TestRunEndReason } from "vitest/node";
import { mustRunAll, testsNotRun } from "./not-run-reporter.ts";

/** Returns the file whose tests threw the error outside of a test, or ended their process. */
const fileOf = (error: SerializedError): string | undefined => {
  const file = error["VITEST_TEST_PATH"] ?? / while running test file (.+)$/.exec(error.cause?.message ?? "")?.[1];
  return typeof file === "string" ? relative(process.cwd(), file) : undefined;
};

export default class FailedFilesReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[], reason: TestRunEndReason): void {
    const path = process.env["PORTSIDE_FAILED_FILES"];
    if (path === undefined || path === "") return;
    const files = new Map<string, string[]>();
    for (const module of modules)
      if (!module.ok())
        files.set(
          module.relativeModuleId,
          [...module.children.allTests("failed")].map(({ fullName }) => fullName),
        );
    const other = mustRunAll() ? testsNotRun(modules) : [];
    if (reason === "interrupted") other.push("The run was interrupted.");
    for (const error of errors) {
      const file = fileOf(error);
      if (file === undefined) other.push(`Unhandled error: ${error.message}`);
      else files.set(file, files.get(file) ?? []);
    }
    const notRun = modules.filter((module) => testsNotRun([module]).length > 0).map((one) => one.relativeModuleId);
    writeFileSync(path, JSON.stringify({ files: [...files].map(([file, tests]) => ({ file, tests })), other, notRun }));
  }
}
