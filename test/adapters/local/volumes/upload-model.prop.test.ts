/** Uploads in parts on this machine behave like the model. */
import { uploadLifeTests } from "../../../models/upload-life.ts";
import { startEngine } from "../../../support/providers/local-suites.ts";

uploadLifeTests(
  "this machine",
  async () => {
    const { local, close } = await startEngine("process");
    return { volumes: local.provider.volumes, close };
  },
  20,
);
