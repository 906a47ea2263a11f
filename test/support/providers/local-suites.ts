/** The suites of the ports on the local engine, for each of its runners. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEngine as serveEngineOf } from "../../../adapters/local/engine/start-engine.ts";
import { createLocalProvider, type LocalProvider } from "../../../adapters/local/index.ts";
import type { Runner } from "../../../adapters/local/sandbox/runner.ts";
import { contractTests, freshNames, type runningCases } from "../../contracts/index.ts";
import { silentLogger } from "../logs/silent-logger.ts";
import { nodeContractSources } from "./contract-sources.ts";

type RunnerKind = Runner["kind"];

type Config = Parameters<typeof createLocalProvider>[0];

/** Opens a provider whose engine is behind a socket. Both are in this process. */
const openOverSocket = async (config: Config): Promise<LocalProvider> => {
  const engine = await serveEngineOf(config, { logger: silentLogger });
  const local = await createLocalProvider(config, { engineSocket: engine.socket });
  const close = async () => {
    await local.close();
    await engine[Symbol.asyncDispose]();
  };
  return { ...local, close };
};

/** The settings without which the provider does not support custom domains. */
const withDomains = { acmeEmail: "ops@example.com", publicAddress: ["192.0.2.1"], tlsPort: 0 };

/** @param overSocket whether the server uses the engine through its socket */
export const startEngine = async (runner: RunnerKind, overSocket = false) => {
  const dataDir = await mkdtemp(join(tmpdir(), "portside-contract-"));
  const config = { dataDir, runner, ingressPort: 0, drainSeconds: 1, graceSeconds: 1, ...withDomains };
  const open = () => (overSocket ? openOverSocket(config) : createLocalProvider(config, { keepsImages: false }));
  let local = await open();
  const close = async () => {
    await local.close();
    await rm(dataDir, { recursive: true, force: true });
  };
  const reopen = async () => {
    await local.close();
    local = await open();
  };
  return {
    get local() {
      return local;
    },
    close,
    reopen,
  };
};

export const engineTests = async (
  runner: RunnerKind,
  title: string,
  cases: typeof runningCases,
  overSocket = false,
) => {
  // The capabilities depend on the machine, so they come from an engine that runs here.
  const probe = await startEngine(runner);
  await probe.close();
  contractTests(
    title,
    cases,
    async () => {
      const { local, close } = await startEngine(runner, overSocket);
      return { subject: { provider: local.provider, sources: nodeContractSources, ...freshNames(runner) }, close };
    },
    probe.local.provider.capabilities,
  );
};

/** The engine with this runner, for the end-to-end cases. */
export const openForMainJob = async (runner: RunnerKind) => {
  const { local, close } = await startEngine(runner);
  return { ports: local.ports, close };
};
