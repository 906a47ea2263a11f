/** A memory provider in which a test replaces ports with a cloud's. */
import { createMemoryProvider } from "../../adapters/memory/index.ts";
import { createSystemClock, randomIds } from "../../adapters/shared/runtime/system.ts";
import type { Provider } from "../../core/ports/provider.ts";
import type { Clock, Ids, Logger } from "../../core/ports/system.ts";
import { freshNames, type ProviderSubject } from "../contracts/index.ts";
import { silentLogger } from "../support/logs/silent-logger.ts";
import { nodeContractSources } from "../support/providers/contract-sources.ts";

export interface RuntimeDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly logger: Logger;
}

/** The machine's clock and random ids, without log output. */
export const runtimeDeps = (): RuntimeDeps => ({ clock: createSystemClock(), ids: randomIds, logger: silentLogger });

/** @param prefix prefix of account and service names */
export const providerWith = (prefix: string, ports: Partial<Provider>): ProviderSubject => ({
  provider: { ...createMemoryProvider().provider, ...ports },
  sources: nodeContractSources,
  ...freshNames(prefix),
});

/** Wraps existing clients as a client source. */
export const fixedClients =
  <C>(clients: Partial<C>) =>
  async <K extends keyof C>(name: K): Promise<C[K]> =>
    clients[name] as C[K];
