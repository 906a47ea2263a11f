/** The main job on one machine, by the cases of every provider. */

import { createLocalProvider } from "../../adapters/local/index.ts";
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
