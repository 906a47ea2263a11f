/** The main job on the fakes of Amazon's services, by the cases of every provider. */
import { createAwsProvider } from "../../../adapters/aws/index.ts";
import { createMemoryProvider } from "../../../adapters/memory/index.ts";
import { e2eCases } from "../../e2e/cases.ts";
import { e2eTests } from "../../e2e/harness.ts";
import { startFakeCloud } from "../../fakes/aws/cloud.ts";
import { folderWith } from "../../support/folders.ts";

e2eTests("aws", e2eCases, async () => {
  const folder = folderWith();
  const cloud = await startFakeCloud();
  const { ports } = createMemoryProvider();
  const { provider, close } = await createAwsProvider(cloud.config(folder.path), ports);
  return {
    ports: { ...ports, provider },
    close: async () => {
      await close();
      await cloud.close();
      folder[Symbol.dispose]();
    },
  };
});
