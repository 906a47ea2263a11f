/**
 * The real stack on ministack: `portside doctor` and `portside prove`, as a user with only the policies of the stack.
 * Builds run the real buildspec, and services run in containers.
 */
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { createAwsProvider } from "../../adapters/aws/index.ts";
import { createMemoryProvider } from "../../adapters/memory/index.ts";
import type { Provider } from "../../core/ports/provider.ts";
import { runtimeDeps } from "../clouds/subject.ts";
import { isMissingCheck, missingSteps } from "../fakes/aws/ministack/gaps.ts";
import { startMinistack } from "../fakes/aws/ministack/ministack.ts";
import { REGION } from "../fakes/aws/test-config.ts";
import { folderWith } from "../support/archives/folders.ts";
import { notPassed, proveOn } from "../support/cli/prove.ts";
import { portside } from "../support/cli/terminal.ts";
import { has, type Need, needs } from "../support/vitest/machine.ts";

const wanted: readonly Need[] = ["ministack", "base images"];
const folder = folderWith();
let ministack: Awaited<ReturnType<typeof startMinistack>> | undefined;

beforeAll(async () => {
  if (!wanted.every(has)) return;
  ministack = await startMinistack();
  for (const [name, value] of Object.entries(ministack.environment)) vi.stubEnv(name, value);
});
afterAll(async () => {
  vi.unstubAllEnvs();
  await ministack?.close();
  folder[Symbol.dispose]();
});

interface Found {
  readonly what: string;
  readonly verdict: string;
  readonly words: string;
}

/** The doctor's findings that are not ok, except for the gaps. */
const doctor = async (): Promise<readonly string[]> => {
  const env = { ...process.env, PORTSIDE_AWS_REGION: REGION };
  const args = ["doctor", "--provider", "aws", "--data-dir", folder.path, "--json"];
  const { stdout } = await portside(args, { env });
  const findings = stdout
    .trim()
    .split("\n")
    .map((line): Found => JSON.parse(line));
  expect(findings.length).toBeGreaterThan(20);
  return findings
    .filter(({ what, verdict }) => verdict !== "ok" && !isMissingCheck(what))
    .map(({ what, words }) => `${what}: ${words}`);
};

const lacking = (reason: string) => ({ supported: false, reason }) as const;

const withoutGaps = (provider: Provider): Provider => {
  const { volumes, sql } = provider.capabilities;
  const capabilities = {
    ...provider.capabilities,
    volumes: { ...volumes, mounts: lacking(missingSteps.mount) },
    sql: { ...sql, queries: lacking(missingSteps.sql) },
  };
  return { ...provider, capabilities };
};

const prove = async () => {
  const deps = runtimeDeps();
  const config = { region: REGION, dataDir: folder.path, settleSeconds: 0, logReadsPerMinute: 1_000_000 };
  const { provider, close } = await createAwsProvider(config, deps);
  const report = await proveOn({ ...createMemoryProvider(deps).ports, provider: withoutGaps(provider) });
  await close();
  return report;
};

test("the stack is complete, and its policies allow every action", async (context) => {
  needs(context, ...wanted);
  expect(await doctor()).toEqual([]);
});

test("every step but the gaps passes, and only what the contract keeps remains", {
  timeout: 400_000,
}, async (context) => {
  needs(context, ...wanted);
  const report = await prove();
  expect(notPassed(report)).toEqual(Object.entries(missingSteps).map(([step, why]) => `${step}: skipped: ${why}`));
  expect(report.left).toEqual([]);
  expect(report.retained).toHaveLength(3);
  expect(await ministack?.remains()).toEqual([]);
});

test("without a policy of the stack, the doctor names the denied actions", async (context) => {
  needs(context, ...wanted);
  await ministack?.denyStorage();
  expect(await doctor()).toContainEqual(expect.stringMatching(/^s3: .*not allowed on all resources: s3:CreateBucket/));
});
