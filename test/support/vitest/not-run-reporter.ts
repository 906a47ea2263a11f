/**
 * Ends a run with the names of the tests that were not run, and why. `PORTSIDE_TEST_ALL=1` says that everything
 * is installed here: then such a test fails the run.
 */
import type { Reporter, TestModule } from "vitest/node";

export const mustRunAll = (): boolean => process.env["PORTSIDE_TEST_ALL"] === "1";

export const testsNotRun = (modules: readonly TestModule[]): string[] =>
  modules.flatMap((module) =>
    [...module.children.allTests("skipped")].map((test) => {
      const result = test.result();
      const why = result.state === "skipped" ? result.note : undefined;
      return `  ${test.fullName} (${module.relativeModuleId}): ${why ?? "no reason given"}`;
    }),
  );

export default class NotRunReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const notRun = testsNotRun(modules);
    if (notRun.length === 0) {
      console.log("\nEvery test was run.");
      return;
    }
    console.log(`\nNot run here (${notRun.length}):\n${notRun.join("\n")}`);
    if (!mustRunAll()) return;
    console.log("\nPORTSIDE_TEST_ALL=1 says that everything is installed, so that is a failure.");
    process.exitCode = 1;
  }
}
