/** Uploads in parts in memory behave like the model. */
import { createMemoryProvider } from "../../adapters/memory/index.ts";
import { uploadLifeTests } from "./upload-life.ts";

uploadLifeTests(
  "memory",
  async () => {
    const memory = createMemoryProvider();
    return { volumes: memory.provider.volumes, close: () => memory.close() };
  },
  60,
);
