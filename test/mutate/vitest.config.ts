/** The tests for mutants of core: core's own examples and properties. */
import { basename } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * The first failure ends a mutant's run, so the tests of the mutated file come first, then those of other rules. The
 * order matters most for mutants of values computed at loading, because every test runs for them.
 */
class OwnTestsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // Before the first mutant, these are all files; then the mutant's file.
    const mutated = (this.ctx.config.related ?? []).map((file) => basename(file, ".ts"));
    const rank = ({ moduleId }: TestSpecification): number => {
      const [subject] = basename(moduleId).split(".") as [string];
      return mutated.includes(subject) ? 0 : moduleId.includes("/test/core/domain/") ? 1 : 2;
    };
    return files.toSorted((a, b) => rank(a) - rank(b) || (a.moduleId < b.moduleId ? -1 : 1));
  }
}

export default defineConfig({
  test: {
    include: ["test/core/**/*.test.ts"],
    // Calls every use case, which starts the SQL process, and tests no rule that other tests do not test.
    exclude: ["test/core/use-cases/accounts/isolation.test.ts"],
    setupFiles: ["./test/support/vitest/seed.ts"],
    isolate: false,
    sequence: { sequencer: OwnTestsFirst },
    testTimeout: 240_000,
    hookTimeout: 240_000,
  },
});
