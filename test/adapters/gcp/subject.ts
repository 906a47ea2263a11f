/** A memory provider, of which a test puts the ports of this provider in place of its own. */

import type { GcpClients } from "../../../adapters/gcp/clients.ts";
import { type GcpConfig, gcpConfigOf } from "../../../adapters/gcp/config.ts";
import { createMemoryProvider } from "../../../adapters/memory/index.ts";
import { createSystemClock, randomIds } from "../../../adapters/shared/system.ts";
import type { Provider } from "../../../core/ports/provider.ts";
import type { Logger } from "../../../core/ports/system.ts";
import { freshNames, type ProviderSubject } from "../../contracts/index.ts";
import { nodeContractSources } from "../../support/contract-sources.ts";

const quiet = () => undefined;
export const silent: Logger = { debug: quiet, info: quiet, warn: quiet, error: quiet };

export const ambientOf = () => ({ clock: createSystemClock(), ids: randomIds, logger: silent });

export const gcpConfig: GcpConfig = gcpConfigOf({
  project: "test-project",
  region: "europe-west1",
  dataDir: "/nowhere",
  buildIdentity: "builder@test-project.iam.gserviceaccount.com",
});

export const providerWith = (ports: Partial<Provider>): ProviderSubject => ({
  provider: { ...createMemoryProvider().provider, ...ports },
  sources: nodeContractSources,
  ...freshNames("gcp"),
});

/** Ready-made clients as a source of them. */
export const givenClients =
  (clients: Partial<GcpClients>) =>
  async <K extends keyof GcpClients>(name: K): Promise<GcpClients[K]> =>
    clients[name] as GcpClients[K];
