/** Amazon Web Services for the shared cloud suites. */
import { createAwsProvider } from "../../adapters/aws/index.ts";
import { type AdverseBehaviors, noneAdverse } from "../fakes/aws/adverse.ts";
import { type FakeCloudOptions, startFakeCloud } from "../fakes/aws/cloud.ts";
import type { Cloud } from "./cloud.ts";

export const awsWith = (
  adverse: AdverseBehaviors,
  options: Pick<FakeCloudOptions, "scheme" | "balancers" | "maxCertificates"> = {},
): Cloud<Awaited<ReturnType<typeof startFakeCloud>>> => ({
  name: "aws",
  start: (services, clock) => startFakeCloud(services, { ...options, adverse, ...(clock && { clock }) }),
  provide: (fakes, dataDir, deps, settings) =>
    createAwsProvider({ ...fakes.config(dataDir), ...settings }, { ...deps, dns: fakes.dns.resolver }),
});

export const aws = awsWith(noneAdverse);
