/** Volumes and deployments on Google Cloud's fakes agree with the model, with services that really mount them. */
import fc from "fast-check";
import { test } from "vitest";
import { createGcpProvider } from "../../../adapters/gcp/index.ts";
import { createMemoryProvider } from "../../../adapters/memory/index.ts";
import { createControlPlane } from "../../../core/control-plane.ts";
import { startFakeCloud } from "../../fakes/gcp/cloud.ts";
import { storageLife } from "../../models/storage-life.ts";
import { folderWith } from "../../support/folders.ts";
import { runs, within } from "../../support/runs.ts";
import { liveOut, runningSystem } from "../../support/storage-system.ts";

const startSystem = async () => {
  const folder = folderWith();
  const cloud = await startFakeCloud();
  const { ports } = createMemoryProvider();
  const { provider, close } = await createGcpProvider(cloud.config(folder.path), ports);
  const controlPlane = createControlPlane({ ...ports, provider });
  return {
    ...runningSystem(controlPlane),
    close: async () => {
      await controlPlane.close();
      await close();
      await cloud.close();
      folder[Symbol.dispose]();
    },
  };
};

test("any life of volumes and deployments is the model's", { timeout: within() }, async () => {
  await fc.assert(
    fc.asyncProperty(storageLife(15), async (life) => liveOut(life, await startSystem())),
    runs(2),
  );
});
