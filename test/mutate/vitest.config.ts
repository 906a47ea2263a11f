/** The tests that mutants of core are run against: core's own, by example and by property. */
import { basename } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/**
 * The first failure ends a mutant's run, so the tests of the rule itself come first, then those of other rules. It matters
 * most for mutants of what is computed once, at loading: every test has to be tried on them.
 */
class OwnTestsFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // Before the first mutant, these are all files; then it is the mutant's.
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
    // It asks every endpoint, SQL's process among them, who owns what; of a rule it says nothing that others do not.
    exclude: ["test/core/use-cases/accounts/isolation.test.ts"],
    setupFiles: ["./test/support/vitest/seed.ts"],
    isolate: false,
    sequence: { sequencer: OwnTestsFirst },
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
