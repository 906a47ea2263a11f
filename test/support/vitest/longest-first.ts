/**
 * Starts the longest files of each project first. Otherwise, one of them starts last and runs alone while the other
 * workers are idle. Without results of an earlier run, vitest starts with the largest files, but the longest ones are
 * small, because they call a whole suite of cases.
 */
import { relative } from "node:path";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** Files that take more than half a minute on two processors, with the longest of each project first. */
export const longest: readonly string[] = [
  // engine
  "test/adapters/local/contract.test.ts",
  "test/adapters/local/contract-bubblewrap.test.ts",
  // rules
  "test/adapters/memory/contract.test.ts",
  "test/adapters/decorators/tracing/contract.test.ts",
  // slow
  "test/e2e/upgrades.test.ts",
  "test/examples/shell-snippets.test.ts",
  "test/hosts/cli/server/supervise.test.ts",
  "test/adapters/local/data-folders.test.ts",
  "test/e2e/custom-domains.test.ts",
  "test/adapters/local/engine/contract.test.ts",
  "test/e2e/kill.test.ts",
  "test/examples/snippets.test.ts",
  "test/hosts/cli/deploy/over-100-mib.test.ts",
  "test/adapters/local/data-folder/random-damage.test.ts",
  "test/adapters/contract-mutants.test.ts",
  "test/adapters/local/sandbox/dying-server.test.ts",
  "test/architecture/unused-results.test.ts",
  "test/e2e/restarts.test.ts",
  "test/adapters/local/builds/package-managers.test.ts",
  // cloud
  "test/adapters/aws/contract.test.ts",
  "test/adapters/gcp/contract.test.ts",
  "test/adapters/aws/single-faults.test.ts",
  "test/adapters/aws/life.prop.test.ts",
  "test/adapters/aws/e2e.test.ts",
  "test/adapters/gcp/life.prop.test.ts",
  "test/adapters/aws/volumes/moto.test.ts",
  "test/adapters/gcp/single-faults.test.ts",
  "test/adapters/gcp/e2e.test.ts",
];

/** The position in the list. Files that are not in the list have the position after it. */
const rankOf = ({ moduleId }: TestSpecification): number => {
  const at = longest.indexOf(relative(process.cwd(), moduleId));
  return at === -1 ? longest.length : at;
};

export class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    // Files of a project stay together, so that those without isolation share their processes.
    const projects = Map.groupBy(await super.sort(files), ({ project }) => project.name);
    return [...projects.values()].flatMap((own) => own.toSorted((a, b) => rankOf(a) - rankOf(b)));
  }
}
