import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

// Tests with real processes measure order and outcome, never speed; they get time, and the machine's cores.
const real = ["test/adapters/local/**/*.test.ts", "test/e2e/**/*.test.ts", "test/hosts/cli/**/*.test.ts"];
// Rules are pure: their files share one loading of what they import, which is half of their work.
const pure = ["test/core/**/*.test.ts"];
// A cloud's suites run services behind its fakes, and are a run of their own: `npm run test:cloud`.
const cloud = ["test/adapters/{gcp,aws}/**/*.test.ts", "test/fakes/**/*.test.ts"];
const patient = { testTimeout: 60_000, hookTimeout: 60_000 };

export default defineConfig({
  test: {
    reporters: ["default", "./test/support/not-run-reporter.ts"],
    pool: "forks",
    // Half of the time a test waits for a process, or for a clock.
    maxWorkers: Math.max(2, availableParallelism()) + 1,
    projects: [
      {
        extends: true,
        test: {
          name: "rules",
          include: ["test/**/*.test.ts"],
          exclude: [...real, ...pure, ...cloud, "**/node_modules/**"],
          testTimeout: 20_000,
        },
      },
      { extends: true, test: { name: "core", include: pure, isolate: false, testTimeout: 20_000 } },
      { extends: true, test: { name: "engine", include: real, ...patient } },
      { extends: true, test: { name: "cloud", include: cloud, ...patient, testTimeout: 120_000 } },
    ],
  },
});
