/** A memory provider, of which a test puts the ports of this provider in place of its own. */
import type { AwsClients } from "../../../adapters/aws/clients.ts";
import { createMemoryProvider } from "../../../adapters/memory/index.ts";
import { createSystemClock, randomIds } from "../../../adapters/shared/system.ts";
import type { Provider } from "../../../core/ports/provider.ts";
import { freshNames, type ProviderSubject } from "../../contracts/index.ts";
import { nodeContractSources } from "../../support/contract-sources.ts";
import { silentLogger } from "../../support/silent-logger.ts";

export const ambientOf = () => ({ clock: createSystemClock(), ids: randomIds, logger: silentLogger });

export const providerWith = (ports: Partial<Provider>): ProviderSubject => ({
  provider: { ...createMemoryProvider().provider, ...ports },
  sources: nodeContractSources,
  ...freshNames("aws"),
});

/** Ready-made clients as a source of them. */
export const givenClients =
  (clients: Partial<AwsClients>) =>
  async <K extends keyof AwsClients>(name: K): Promise<AwsClients[K]> =>
    clients[name] as AwsClients[K];
