/** Amazon Web Services for the shared cloud suites. */
import { createAwsProvider } from "../../adapters/aws/index.ts";
import { startFakeCloud } from "../fakes/aws/cloud.ts";
import type { Cloud } from "./cloud.ts";

export const aws: Cloud<Awaited<ReturnType<typeof startFakeCloud>>> = {
  name: "aws",
  start: startFakeCloud,
  provide: (fakes, dataDir, deps) => createAwsProvider(fakes.config(dataDir), deps),
};
