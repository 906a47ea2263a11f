/** The main job on every provider that runs services here, by the same cases. */

import { createGcpProvider } from "../../adapters/gcp/index.ts";
import { createLocalProvider } from "../../adapters/local/index.ts";
import { createMemoryProvider } from "../../adapters/memory/index.ts";
import { startFakeCloud } from "../fakes/gcp/cloud.ts";
import { folderWith } from "../support/folders.ts";
import { e2eCases } from "./cases.ts";
import { e2eTests } from "./harness.ts";

e2eTests("local", e2eCases, async () => {
  const folder = folderWith();
  const { ports, close } = await createLocalProvider({
    dataDir: folder.path,
    runner: "process",
    ingressPort: 0,
    drainSeconds: 1,
    graceSeconds: 1,
  });
  return {
    ports,
    close: async () => {
      await close();
      folder[Symbol.dispose]();
    },
  };
});

e2eTests("gcp", e2eCases, async () => {
  const folder = folderWith();
  const cloud = await startFakeCloud();
  const { ports } = createMemoryProvider();
  const { provider, close } = await createGcpProvider(cloud.config(folder.path), ports);
  return {
    ports: { ...ports, provider },
    close: async () => {
      await close();
      await cloud.close();
      folder[Symbol.dispose]();
    },
  };
});
