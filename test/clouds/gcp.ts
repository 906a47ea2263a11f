/** Google Cloud for the shared cloud suites. */
import { createGcpProvider } from "../../adapters/gcp/index.ts";
import { type AdverseBehaviors, noneAdverse } from "../fakes/gcp/adverse.ts";
import { startFakeCloud } from "../fakes/gcp/cloud.ts";
import type { Cloud } from "./cloud.ts";

export const gcpWith = (adverse: AdverseBehaviors): Cloud<Awaited<ReturnType<typeof startFakeCloud>>> => ({
  name: "gcp",
  start: (services, clock) => startFakeCloud(services, { adverse, ...(clock && { clock }) }),
  provide: (fakes, dataDir, deps, settings) => createGcpProvider({ ...fakes.config(dataDir), ...settings }, deps),
});

export const gcp = gcpWith(noneAdverse);
