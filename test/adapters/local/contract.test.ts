/** The local engine keeps every promise of the ports: those about services that run with each runner that works here. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLocalProvider } from "../../../adapters/local/index.ts";
import { contractTests, freshNames, identityCases, runningCases, storedCases } from "../../contracts/index.ts";
import { nodeContractSources } from "../../support/contract-sources.ts";
import { runners } from "../../support/local-platform.ts";

const startEngine = async (runner: "bubblewrap" | "process") => {
  const dataDir = await mkdtemp(join(tmpdir(), "portside-contract-"));
  const local = await createLocalProvider({ dataDir, runner, ingressPort: 0, drainSeconds: 1, graceSeconds: 1 });
  const close = async () => {
    await local.close();
    await rm(dataDir, { recursive: true, force: true });
  };
  return { local, close };
};

const engineTests = async (runner: "bubblewrap" | "process", title: string, cases: typeof runningCases) => {
  // What is declared depends on the machine, so it is read from an engine that was started here.
  const probe = await startEngine(runner);
  await probe.close();
  contractTests(
    title,
    cases,
    async () => {
      const { local, close } = await startEngine(runner);
      return { subject: { provider: local.provider, sources: nodeContractSources, ...freshNames(runner) }, close };
    },
    probe.local.provider.capabilities,
  );
};

for (const runner of runners) await engineTests(runner, `local provider (${runner})`, runningCases);
await engineTests("process", "local provider", storedCases);

contractTests("local identity", identityCases, async () => {
  const { local, close } = await startEngine("process");
  return { subject: { identity: local.identity, account: freshNames("local").account }, close };
});
