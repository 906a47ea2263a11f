/** `examples/swap-provider` starts as documented. `.ci/check-package.mjs` runs the tests of the other examples. */
import { spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, test } from "vitest";

const hook = resolve("test/examples/from-source.ts");

const run = async (args: readonly string[], cwd: string, env: Readonly<Record<string, string>> = {}) => {
  const { NODE_OPTIONS: _options, VITEST: _vitest, NODE_TEST_CONTEXT: _context, ...inherited } = process.env;
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...inherited, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = new Promise<number | null>((done) => child.once("exit", done));
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await ended, stdout, stderr };
};

const testOf = (example: string): string | undefined => {
  const path = `examples/${example}/package.json`;
  return existsSync(path) ? JSON.parse(readFileSync(path, "utf8")).scripts?.test : undefined;
};

test("these examples have tests", () => {
  expect(readdirSync("examples").filter((name) => testOf(name) !== undefined)).toEqual([
    "adapter-fs-only",
    "deploy-rules",
    "embed-express",
    "embed-fastify",
    "embed-job",
    "whole-application",
  ]);
});

describe("swap-provider: npm start", () => {
  const start = (env: Readonly<Record<string, string>>) =>
    run(["--import", hook, "main.ts"], "examples/swap-provider", { ...env, PORTSIDE_LOG_LEVEL: "error" });

  test("in memory: capabilities and a plan", async () => {
    const { code, stdout, stderr } = await start({ PORTSIDE_PROVIDER: "memory" });
    expect(code, stderr).toBe(0);
    expect(stdout).toContain("Create 'app'\nCPU raised from 1 to 2: 8Gi of memory needs it");
  });

  test.each([
    ["gcp", "PORTSIDE_GCP_PROJECT"],
    ["aws", "PORTSIDE_AWS_REGION"],
  ])("%s without its settings: names the missing setting", async (provider, missing) => {
    const { code, stdout, stderr } = await start({ PORTSIDE_PROVIDER: provider, HOME: "/nonexistent" });
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toContain(missing);
  });
});
