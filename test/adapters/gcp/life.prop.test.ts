/** Volumes and deployments on Google Cloud's fakes agree with the model, with services that really mount them. */
import fc from "fast-check";
import { test } from "vitest";
import { createGcpProvider } from "../../../adapters/gcp/index.ts";
import { createMemoryProvider } from "../../../adapters/memory/index.ts";
import { createControlPlane } from "../../../core/control-plane.ts";
import { ok } from "../../../core/result.ts";
import { startFakeCloud } from "../../fakes/gcp/cloud.ts";
import { storageAccounts, storageLife } from "../../models/storage-life.ts";
import { emptyModel, type StorageSystem } from "../../models/storage-model.ts";
import { bytesOf, helloServer, nodeSource } from "../../support/archives.ts";
import { folderWith } from "../../support/folders.ts";
import { principalOf } from "../../support/local-platform.ts";
import { runs, within } from "../../support/runs.ts";

const source = nodeSource(helloServer());

const startSystem = async (): Promise<StorageSystem & { close(): Promise<void> }> => {
  const folder = folderWith();
  const cloud = await startFakeCloud();
  const { ports } = createMemoryProvider();
  const { provider, close } = await createGcpProvider(cloud.config(folder.path), ports);
  const controlPlane = createControlPlane({ ...ports, provider });
  return {
    controlPlane,
    principal: principalOf,
    deploy: async (account, fields) => {
      const principal = principalOf(account);
      const archive = (await controlPlane.receiveSource(principal, bytesOf(source)))._unsafeUnwrap();
      const run = await controlPlane.deploy(principal, { fields, archive });
      return run.isErr() ? run.map(() => []) : ok(await Array.fromAsync(run.value.follow()));
    },
    pass: async () => undefined,
    close: async () => {
      await controlPlane.close();
      await close();
      await cloud.close();
      folder[Symbol.dispose]();
    },
  };
};

test("any life of volumes and deployments is the model's", { timeout: within(120_000) }, async () => {
  await fc.assert(
    fc.asyncProperty(storageLife(15), async (life) => {
      const real = await startSystem();
      try {
        await fc.asyncModelRun(() => ({ model: emptyModel(storageAccounts), real }), life);
      } finally {
        await real.close();
      }
    }),
    runs(2),
  );
});
