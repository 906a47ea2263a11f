/** Systems to compare with the model of volumes: a control plane with running services, and one with a manual clock. */
import fc from "fast-check";
import type { ControlPlane, DeployFields } from "../../../core/control-plane.ts";
import { ok } from "../../../core/result.ts";
import { storageAccounts, type storageLife } from "../../models/storage-life.ts";
import { emptyModel, type StorageSystem } from "../../models/storage-model.ts";
import { whileTicking } from "../../simulation/ticking.ts";
import { bytesOf, helloServer, nodeSource } from "../archives/archives.ts";
import { principalOf } from "./local-platform.ts";
import { recordsOf, type startMemory } from "./memory-platform.ts";

const source = nodeSource(helloServer());

export const runningSystem = (controlPlane: ControlPlane): StorageSystem => ({
  controlPlane,
  principal: principalOf,
  deploy: async (account, fields) => {
    const principal = principalOf(account);
    const archive = (await controlPlane.receiveSource(principal, bytesOf(source)))._unsafeUnwrap();
    const run = await controlPlane.deploy(principal, { fields: fields as DeployFields, archive });
    return run.isErr() ? run.map(() => []) : ok(await Array.fromAsync(run.value.follow()));
  },
  pass: async () => undefined,
});

export const tickingSystem = (platform: ReturnType<typeof startMemory>): StorageSystem => {
  const { controlPlane, clock, principal, submit } = platform;
  return {
    controlPlane,
    principal,
    deploy: async (account, fields) => {
      const run = await whileTicking(clock, submit(fields, account));
      return run.isErr() ? run.map(() => []) : ok(await recordsOf(platform, run.value));
    },
    pass: () => clock.advance(1),
  };
};

type Life = ReturnType<typeof storageLife> extends fc.Arbitrary<infer T> ? T : never;

/** Runs one sequence of commands on a system and the model, and closes the system. */
export const runLife = async (life: Life, real: StorageSystem & { close(): Promise<void> }): Promise<void> => {
  try {
    await fc.asyncModelRun(() => ({ model: emptyModel(storageAccounts), real }), life);
  } finally {
    await real.close();
  }
};
