/**
 * The real stack on ministack: `portside doctor`, `portside prove` and the contract suites, as a user with only the
 * policies of the stack. Builds run the real buildspec, and services run in containers. The complete suites take many
 * minutes, so a run takes a sample; `PORTSIDE_MATRIX=all` runs all of them.
 */
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { awsCapabilities } from "../../adapters/aws/capabilities.ts";
import { createAwsProvider } from "../../adapters/aws/index.ts";
import { createMemoryProvider } from "../../adapters/memory/index.ts";
import type { Capabilities } from "../../core/domain/wire/capabilities.ts";
import type { Provider } from "../../core/ports/provider.ts";
import { runtimeDeps } from "../clouds/subject.ts";
import { appliesTo } from "../contracts/harness.ts";
import { freshNames, imageBuilderCases, type ProviderSubject, runningCases, storedCases } from "../contracts/index.ts";
import { isMissingCheck, missingSteps } from "../fakes/aws/ministack/gaps.ts";
import { startMinistack } from "../fakes/aws/ministack/ministack.ts";
import { sharingImages } from "../fakes/aws/ministack/shared-images.ts";
import { awsConfig, REGION } from "../fakes/aws/test-config.ts";
import { folderWith } from "../support/archives/folders.ts";
import { notPassed, proveOn } from "../support/cli/prove.ts";
import { portside } from "../support/cli/terminal.ts";
import { nodeContractSources } from "../support/providers/contract-sources.ts";
import { has, type Need, needs } from "../support/vitest/machine.ts";
import { sampled } from "../support/vitest/sampled.ts";

/** ministack's event ids do not order the lines of one millisecond. */
const SETTLE_SECONDS = 1;

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

const capabilitiesWithoutGaps = ({ volumes, sql, ...others }: Capabilities): Capabilities => ({
  ...others,
  volumes: { ...volumes, mounts: lacking(missingSteps.mount) },
  sql: { ...sql, queries: lacking(missingSteps.sql) },
});

const withoutGaps = (provider: Provider): Provider => ({
  ...provider,
  capabilities: capabilitiesWithoutGaps(provider.capabilities),
});

const openProvider = async (settleSeconds: number, deps = runtimeDeps()) => {
  const config = { region: REGION, dataDir: folder.path, settleSeconds, logReadsPerMinute: 1_000_000 };
  const { provider, close } = await createAwsProvider(config, deps);
  return { provider: withoutGaps(provider), close };
};

const prove = async () => {
  const deps = runtimeDeps();
  const { provider, close } = await openProvider(SETTLE_SECONDS, deps);
  const report = await proveOn({ ...createMemoryProvider(deps).ports, provider });
  await close();
  return report;
};

test("the stack is complete, and its policies allow every action", async (context) => {
  needs(context, ...wanted);
  expect(await doctor()).toEqual([]);
});

test("every step except the gaps passes, and only retained data remains", {
  timeout: 400_000,
}, async (context) => {
  needs(context, ...wanted);
  const report = await prove();
  expect(notPassed(report)).toEqual(Object.entries(missingSteps).map(([step, why]) => `${step}: skipped: ${why}`));
  expect(report.left).toEqual([]);
  expect(report.retained).toHaveLength(3);
  expect(await ministack?.remains()).toEqual([]);
});

describe("the contract suites", () => {
  let subject: (ProviderSubject & { close(): Promise<void> }) | undefined;
  let shared: ProviderSubject | undefined;
  beforeAll(async () => {
    if (ministack === undefined) return;
    const { provider, close } = await openProvider(SETTLE_SECONDS);
    subject = { provider, sources: nodeContractSources, ...freshNames("ms"), close };
    shared = { ...subject, provider: { ...provider, builder: sharingImages(provider.builder) } };
  });
  afterAll(() => subject?.close());

  const capabilities = capabilitiesWithoutGaps(awsCapabilities(awsConfig));
  const some = (cases: typeof runningCases, every: number) =>
    sampled(
      cases.filter((one) => appliesTo(one, capabilities)),
      every,
    );
  for (const one of [...some(runningCases, 16), ...some(storedCases, 6)]) {
    test(`${one.group}: ${one.name}`, { timeout: 300_000 }, async (context) => {
      needs(context, ...wanted);
      await one.run((imageBuilderCases.includes(one) ? subject : shared) as ProviderSubject);
    });
  }
});

test("without a policy of the stack, the doctor names the denied actions", async (context) => {
  needs(context, ...wanted);
  await ministack?.denyStorage();
  expect(await doctor()).toContainEqual(expect.stringMatching(/^s3: .*not allowed on all resources: s3:CreateBucket/));
});
