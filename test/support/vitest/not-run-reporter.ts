/**
 * Lists the skipped tests and their reasons at the end of a run. With `PORTSIDE_TEST_ALL=1`, which states that
 * everything is installed, a skipped test fails the run.
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
    console.log(
      "\nPORTSIDE_TEST_ALL=1 requires every test to run, so the run fails. Install what is missing or unset it.",
    );
    process.exitCode = 1;
  }
}
