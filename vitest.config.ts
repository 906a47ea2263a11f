import { availableParallelism } from "node:os";
import { defineConfig } from "vitest/config";

// Tests with real processes measure order and outcome, never speed; they get time, and the machine's cores.
const real = ["test/adapters/{local,gcp}/**/*.test.ts", "test/e2e/**/*.test.ts", "test/hosts/cli/**/*.test.ts"];

export default defineConfig({
  test: {
    reporters: ["default", "./test/support/not-run-reporter.ts"],
    pool: "forks",
    // Half of the time a test waits for a process, or for a clock.
    maxWorkers: Math.max(2, availableParallelism()) + 2,
    projects: [
      {
        extends: true,
        test: {
          name: "rules",
          include: ["test/**/*.test.ts"],
          exclude: [...real, "**/node_modules/**"],
          testTimeout: 20_000,
        },
      },
      {
        extends: true,
        test: { name: "engine", include: real, testTimeout: 60_000, hookTimeout: 60_000 },
      },
    ],
  },
});
