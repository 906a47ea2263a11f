/** Google Cloud for the shared cloud suites. */
import { createGcpProvider } from "../../adapters/gcp/index.ts";
import { startFakeCloud } from "../fakes/gcp/cloud.ts";
import type { Cloud } from "./cloud.ts";

export const gcp: Cloud<Awaited<ReturnType<typeof startFakeCloud>>> = {
  name: "gcp",
  start: startFakeCloud,
  provide: (fakes, dataDir, deps) => createGcpProvider(fakes.config(dataDir), deps),
};
