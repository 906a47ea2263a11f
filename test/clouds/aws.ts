/** Amazon Web Services for the shared cloud suites. */
import { createAwsProvider } from "../../adapters/aws/index.ts";
import { type FakeCloudOptions, startFakeCloud } from "../fakes/aws/cloud.ts";
import { friendly, type Mean } from "../fakes/aws/mean.ts";
import type { Cloud } from "./cloud.ts";

export const awsWith = (
  mean: Mean,
  options: Pick<FakeCloudOptions, "scheme" | "balancers" | "maxCertificates"> = {},
): Cloud<Awaited<ReturnType<typeof startFakeCloud>>> => ({
  name: "aws",
  start: (services, clock) => startFakeCloud(services, { ...options, mean, ...(clock && { clock }) }),
  provide: (fakes, dataDir, deps, settings) =>
    createAwsProvider({ ...fakes.config(dataDir), ...settings }, { ...deps, dns: fakes.dns.resolver }),
});

export const aws = awsWith(friendly);
