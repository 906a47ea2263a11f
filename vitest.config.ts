import { availableParallelism } from "node:os";
import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./test/support/vitest/longest-first.ts";

// Tests with real processes.
const real = ["test/adapters/local/**/*.test.ts", "test/e2e/**/*.test.ts", "test/hosts/cli/**/*.test.ts"];
// These tests are pure, so their files share one module cache. Loading modules is half of their run time.
const pure = ["test/core/**/*.test.ts"];
// Slow tests (attacks, floods, archive bombs, aborted connections, kills, damage, builds, the documentation's programs)
// run separately: `npm run test:slow`.
const slow = [
  "test/adapters/acme/domains/pebble.test.ts",
  "test/adapters/contract-mutants.test.ts",
  "test/adapters/local/backup/*.test.ts",
  "test/adapters/local/builds/{compile-cache,dependencies,ending,express,extract,hostile,node,noisy}.test.ts",
  "test/adapters/local/builds/{package-managers,python,python-starters,sandbox}.test.ts",
  "test/adapters/local/data-folder/*.test.ts",
  "test/adapters/local/data-folders.test.ts",
  "test/adapters/local/engine/{contract,successor}.test.ts",
  "test/adapters/local/ingress/{frozen-crowd,redeploy,timeout,websocket}.test.ts",
  "test/adapters/local/instances/{http2-probe,sick-greedy,sick-starts}.test.ts",
  "test/adapters/local/logs/{damage,searches}.test.ts",
  "test/adapters/local/redeploys.test.ts",
  "test/adapters/local/sandbox/{dying-network,dying-server,escapes,network,networks,refused-calls,watchdog}.test.ts",
  "test/adapters/local/schedules/deployed.test.ts",
  "test/adapters/local/secrets/key-file.test.ts",
  "test/adapters/local/sql/derived.test.ts",
  "test/adapters/local/sql/hostile.test.ts",
  "test/adapters/local/state/damage.test.ts",
  "test/adapters/local/volumes/large.test.ts",
  "test/adapters/local/volumes/meddling.test.ts",
  "test/adapters/local/tenant-files/*.test.ts",
  "test/adapters/local/tls/{api,hostile,scanner,serve}.test.ts",
  "test/adapters/local/sandbox/users/{accounts,migration}.test.ts",
  "test/adapters/shared/archives/{archive-walk.prop,bombs}.test.ts",
  "test/architecture/unused-results.test.ts",
  "test/ci/rerun-failed.test.ts",
  "test/docs/bundling.test.ts",
  "test/docs/picture.test.ts",
  "test/docs/proxy.test.ts",
  "test/docs/site.test.ts",
  "test/e2e/kill-moments.test.ts",
  "test/e2e/{kill,release-kills,rollbacks,secret-kills}.test.ts",
  "test/e2e/custom-domains.test.ts",
  "test/e2e/restarts.test.ts",
  "test/e2e/upgrade-faults.test.ts",
  "test/e2e/upgrades.test.ts",
  "test/examples/examples.test.ts",
  "test/examples/shell-snippets.test.ts",
  "test/examples/snippets.test.ts",
  "test/hosts/cli/completion/completion.test.ts",
  "test/hosts/cli/deploy/{env-file,over-100-mib,shell,source-watch}.test.ts",
  "test/hosts/cli/prove/kills.test.ts",
  "test/hosts/cli/prove/lies.test.ts",
  "test/hosts/cli/prove/local.test.ts",
  "test/hosts/cli/server/{supervise,supervised-server}.test.ts",
  "test/hosts/cli/volumes/cuts.test.ts",
  "test/hosts/cli/volumes/large.test.ts",
  "test/hosts/http/docs/generators.test.ts",
  "test/hosts/http/deploy/large-uploads.test.ts",
];
// The cloud suites run services behind fakes of the clouds. They also run separately: `npm run test:cloud`.
const cloud = ["test/adapters/gcp/**/*.test.ts", "test/adapters/aws/**/*.test.ts", "test/fakes/**/*.test.ts"];

// These tests need a browser and the built console, and run separately: `npm run test:console`.
const pages = ["test/console/**/*.test.ts"];

// These tests need Docker and run separately: `npm run test:containers`.
const containers = ["test/containers/**/*.test.ts"];

export default defineConfig({
  test: {
    reporters: [
      "default",
      "./test/support/vitest/not-run-reporter.ts",
      "./test/support/vitest/failed-files-reporter.ts",
    ],
    // `npm run coverage` measures the rules and use cases only. Contract suites test adapters and hosts.
    coverage: {
      provider: "v8",
      include: ["core/**/*.ts"],
      reporter: ["text-summary", "json"],
      reportsDirectory: "reports/coverage",
      thresholds: { branches: 98 },
    },
    setupFiles: ["./test/support/vitest/seed.ts"],
    sequence: { sequencer: LongestFirst },
    pool: "forks",
    // With memory protection keys, V8 in Node 24 sometimes ends a process: `Check failed: jit_page.has_value()`. Only the
    // processes of test files get this flag. The programs that tests start run as users run them.
    execArgv: ["--no-memory-protection-keys"],
    // Loading modules takes less processor time with compiled code that earlier test files and runs have stored.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, "node_modules/.compile-cache") },
    // Two more workers than processors, because tests wait for a process or a clock half of the time.
    maxWorkers: Math.max(2, availableParallelism()) + 2,
    // Tests check order and outcome, never speed. This timeout only ends hung tests, even on a very busy machine.
    testTimeout: 240_000,
    hookTimeout: 240_000,
    expect: { poll: { timeout: 60_000 } },
    projects: [
      {
        extends: true,
        test: {
          name: "rules",
          include: ["test/**/*.test.ts"],
          exclude: [...real, ...pure, ...slow, ...cloud, ...containers, ...pages, "**/node_modules/**"],
          isolate: false,
        },
      },
      { extends: true, test: { name: "core", include: pure, isolate: false } },
      { extends: true, test: { name: "engine", include: real, exclude: slow } },
      { extends: true, test: { name: "slow", include: slow } },
      {
        extends: true,
        test: { name: "cloud", include: cloud, setupFiles: ["./test/fakes/gcp/requests/fail-on-violations.ts"] },
      },
      { extends: true, test: { name: "console", include: pages } },
      // Ryuk, the Testcontainers cleanup helper, comes from a registry. The tests clean up themselves.
      {
        extends: true,
        test: { name: "containers", include: containers, env: { TESTCONTAINERS_RYUK_DISABLED: "true" } },
      },
    ],
  },
});
