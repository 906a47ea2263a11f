/** The real local engine in a temporary folder, with a control plane, for tests. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLocalProvider, type LocalDeps, type LocalProvider } from "../../../adapters/local/index.ts";
import { type ControlPlane, createControlPlane } from "../../../core/control-plane.ts";
import { type AccountId, type Principal, parseAccount } from "../../../core/domain/accounts/account.ts";
import type { DeployEvent } from "../../../core/domain/deploy/events.ts";
import type { SettingsInput } from "../../../core/use-cases/pipeline/context.ts";
import { bytesOf } from "../archives/archives.ts";
import { has } from "../vitest/machine.ts";

export type LocalOptions = Omit<Parameters<typeof createLocalProvider>[0], "dataDir">;

export const principalOf = (account: string): Principal => ({
  account: parseAccount(account) as AccountId,
  credentialId: "test",
});

export interface TestPlatform extends AsyncDisposable {
  readonly controlPlane: ControlPlane;
  readonly local: LocalProvider;
  readonly dataDir: string;
  /** Deploys a source and returns every record. */
  deploy(source: Uint8Array, fields?: Readonly<Record<string, unknown>>, account?: string): Promise<DeployEvent[]>;
  /** Deploys a source, which must succeed; returns the URL. */
  up(source: Uint8Array, fields?: Readonly<Record<string, unknown>>, account?: string): Promise<string>;
}

/** The runners that work on this machine; engine tests that depend on isolation run with each. */
export const runners: readonly ("bubblewrap" | "process")[] = has("bubblewrap")
  ? ["bubblewrap", "process"]
  : ["process"];

/** Deploys through one control plane; several with different settings may share a provider. */
export const deployThrough =
  (controlPlane: ControlPlane): TestPlatform["deploy"] =>
  async (source, fields = {}, account = "acme") => {
    const principal = principalOf(account);
    const archive = (await controlPlane.receiveSource(principal, bytesOf(source)))._unsafeUnwrap();
    const run = await controlPlane.deploy(principal, {
      fields: { function_name: "app", volumes: {}, ...fields },
      archive,
    });
    if (run.isErr()) throw new Error(JSON.stringify(run.error));
    return Array.fromAsync(run.value.follow());
  };

/** Uses a folder of the test, so that the test can check what one run of the engine leaves for the next. */
export const startLocalIn = async (
  dataDir: string,
  options: LocalOptions = {},
  settings: SettingsInput = {},
  deps: LocalDeps = {},
): Promise<TestPlatform> => {
  const config = { ingressPort: 0, drainSeconds: 5, graceSeconds: 2, ...options, dataDir };
  const local = await createLocalProvider(config, deps);
  const controlPlane = createControlPlane(local.ports, settings);
  const deploy = deployThrough(controlPlane);
  return {
    controlPlane,
    local,
    dataDir,
    deploy,
    up: async (source, fields, account) => {
      const records = await deploy(source, fields, account);
      const last = records.at(-1);
      if (last?.status !== "DONE" || last.url === undefined)
        throw new Error(`the deploy failed: ${JSON.stringify(last)}`);
      return last.url;
    },
    [Symbol.asyncDispose]: async () => {
      await controlPlane.close();
      await local.close();
    },
  };
};

export const startLocal = async (
  options: LocalOptions = {},
  settings: SettingsInput = {},
  deps: LocalDeps = {},
): Promise<TestPlatform> => {
  const dataDir = await mkdtemp(join(tmpdir(), "portside-test-"));
  const platform = await startLocalIn(dataDir, options, settings, { keepsImages: false, ...deps });
  return {
    ...platform,
    [Symbol.asyncDispose]: async () => {
      await platform[Symbol.asyncDispose]();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};
