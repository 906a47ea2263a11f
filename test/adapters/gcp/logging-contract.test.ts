/** Cloud Logging keeps every promise of a log store. */

import { createGcpLogs } from "../../../adapters/gcp/logging/store.ts";
import { memoryCapabilities } from "../../../adapters/memory/capabilities.ts";
import { contractTests, logSearchCases, logStoreCases } from "../../contracts/index.ts";
import { startFakeLogging } from "../../fakes/gcp/logging/server.ts";
import { ambientOf, gcpConfig, givenClients, providerWith } from "./subject.ts";

contractTests(
  "gcp logs",
  [...logStoreCases, ...logSearchCases],
  async () => {
    const ambient = ambientOf();
    const fake = await startFakeLogging({ clock: ambient.clock });
    const config = { ...gcpConfig, logReadsPerMinute: 1_000_000 };
    const logs = createGcpLogs(config, givenClients({ logging: fake.client }), ambient);
    return { subject: providerWith({ logs }), close: fake.close };
  },
  memoryCapabilities,
);
