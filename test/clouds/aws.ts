/** Amazon Web Services for the shared cloud suites. */
import { createAwsProvider } from "../../adapters/aws/index.ts";
import { startFakeCloud } from "../fakes/aws/cloud.ts";
import { friendly, type Mean } from "../fakes/aws/mean.ts";
import type { Cloud } from "./cloud.ts";

export const awsWith = (mean: Mean): Cloud<Awaited<ReturnType<typeof startFakeCloud>>> => ({
  name: "aws",
  start: (services, clock) => startFakeCloud(services, { mean, ...(clock && { clock }) }),
  provide: (fakes, dataDir, deps) => createAwsProvider(fakes.config(dataDir), deps),
});

export const aws = awsWith(friendly);
