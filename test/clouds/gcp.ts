/** Google Cloud for the shared cloud suites. */
import { createGcpProvider } from "../../adapters/gcp/index.ts";
import { startFakeCloud } from "../fakes/gcp/cloud.ts";
import { friendly, type Mean } from "../fakes/gcp/mean.ts";
import type { Cloud } from "./cloud.ts";

export const gcpWith = (mean: Mean): Cloud<Awaited<ReturnType<typeof startFakeCloud>>> => ({
  name: "gcp",
  start: (services, clock) => startFakeCloud(services, { mean, ...(clock && { clock }) }),
  provide: (fakes, dataDir, deps, settings) => createGcpProvider({ ...fakes.config(dataDir), ...settings }, deps),
});

export const gcp = gcpWith(friendly);
