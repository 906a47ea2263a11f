/**
 * A complete in-memory provider: the reference in Portside's own tests, and a test double for embedders.
 *
 * ```ts
 * const memory = createMemoryProvider();
 * const controlPlane = createControlPlane(memory.ports);
 * ```
 */
import type { AccountId } from "../../core/domain/accounts/account.ts";
import { releaseLimits } from "../../core/domain/accounts/limits.ts";
import type { Capabilities } from "../../core/domain/wire/capabilities.ts";
import { CONTRACT_VERSION, type Identity, type Ports, type Provider } from "../../core/ports/provider.ts";
import type { Clock, Ids, Logger } from "../../core/ports/system.ts";
import { okAsync } from "../../core/result.ts";
import { createIdentity, generateSigningKey } from "../jwt/index.ts";
import { registeredDomain } from "../shared/domains/public-suffixes.ts";
import { compileRe2 } from "../shared/logs/re2.ts";
import { createSystemClock, randomIds } from "../shared/runtime/system.ts";
import type { BillingRow } from "../shared/sql/tables/billing.ts";
import { createMemoryKeys } from "./accounts/keys.ts";
import { createMemorySessions } from "./accounts/sessions.ts";
import { memoryCapabilities } from "./capabilities.ts";
import { createMemoryBuilder, createMemorySpool } from "./deploy/build.ts";
import { createMemoryPlatform } from "./deploy/service-platform.ts";
import { createMemoryDomains } from "./domains/domain-store.ts";
import { createSimulatedDns, memoryTarget, type SimulatedDns } from "./domains/simulated-dns.ts";
import { createMemoryLogs } from "./logs/log-store.ts";
import { createMemoryScheduler } from "./schedules/scheduler.ts";
import { createMemorySecrets } from "./secrets/secret-store.ts";
import { createMemorySql } from "./sql/sql-engine.ts";
import { createMemoryBilling, type MemoryBilling } from "./usage/billing.ts";
import { createMemoryMetrics, type SimulatedActivity } from "./usage/metrics.ts";
import { createMemoryStorage } from "./volumes/storage-server.ts";
import { createMemoryVolumes } from "./volumes/volume-store.ts";
import { createWorld, resetWorld, type World } from "./world.ts";

/** Options of `createMemoryProvider`. */
export interface MemoryConfig {
  readonly clock?: Clock;
  readonly ids?: Ids;
  readonly logger?: Logger;
  /** Releases of a deployment that a rollback can restore. Defaults to 10. */
  readonly releasesKept?: number;
  /** Replaces fields of the capabilities, to test the rules that depend on them. */
  readonly capabilities?: Partial<Capabilities>;
}

/** An in-memory provider with its test controls. */
export interface MemoryProvider {
  readonly provider: Provider;
  readonly identity: Identity;
  /** Every account has the free subscription until `subscribe` changes it. */
  readonly billing: MemoryBilling;
  /** Adds rows to the account's SQL table `billing`. The provider itself does not meter usage. */
  charge(account: AccountId, ...rows: readonly BillingRow[]): void;
  /** Adds activity to the current minute of a deployment's metrics. Without it, a deployment has no metrics. */
  measure(account: AccountId, deployment: string, activity: SimulatedActivity): void;
  /** The ports that `createControlPlane` needs. */
  readonly ports: Ports;
  /** The DNS that checks of domains read. It is empty until records are added. */
  readonly dns: SimulatedDns;
  /** Deletes all state. */
  reset(): void;
  /** Returns a copy of all state. */
  snapshot(): World;
  /** Closes the storage server and the SQL processes, if they are running. */
  close(): Promise<void>;
}

const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Creates an in-memory provider with no state. */
export const createMemoryProvider = (config: MemoryConfig = {}): MemoryProvider => {
  const { clock = createSystemClock(), ids = randomIds, logger = silent } = config;
  const { releasesKept = releaseLimits.kept.default } = config;
  const world = createWorld();
  const sql = createMemorySql(world);
  const storage = createMemoryStorage(world, clock, logger);
  const logs = createMemoryLogs(world, clock, compileRe2);
  const metrics = createMemoryMetrics(world, clock);
  const { dns, controls } = createSimulatedDns(world);
  const provider: Provider = {
    contractVersion: CONTRACT_VERSION,
    capabilities: { ...memoryCapabilities, ...config.capabilities },
    services: createMemoryPlatform(world, clock, ids, releasesKept),
    builder: createMemoryBuilder(world),
    volumes: createMemoryVolumes(world, clock, ids, storage),
    scheduler: createMemoryScheduler(world, clock, logs),
    logs,
    secrets: createMemorySecrets(world, clock),
    domains: { store: createMemoryDomains(world), dns, target: memoryTarget, registeredDomain },
    sql,
    metrics,
    spool: createMemorySpool(),
    check: () => okAsync(undefined),
  };
  const identity = createIdentity({
    records: createMemoryKeys(world),
    sessionRecords: createMemorySessions(world),
    loadSigningKey: generateSigningKey,
    clock,
    ids,
    logger,
  });
  const billing = createMemoryBilling();
  return {
    provider,
    identity,
    billing,
    ports: { provider, identity, billing, clock, ids, logger, compilePattern: compileRe2 },
    dns: controls,
    charge: (account, ...rows) => void world.charges.set(account, [...(world.charges.get(account) ?? []), ...rows]),
    measure: metrics.measure,
    reset: () => {
      resetWorld(world);
      void sql.restart();
    },
    snapshot: () => structuredClone(world),
    close: async () => {
      await Promise.all([storage.close(), sql.close()]);
    },
  };
};

export { delayed, type Fault, faulty, type PortCall } from "../decorators/faulty.ts";
export { type ArchiveSink, type ReceivedArchive, receiveArchive } from "../shared/archives/receive-archive.ts";
export { cloudRunSizes } from "../shared/deploy/cloud-run-sizes.ts";
export type { BillingRow } from "../shared/sql/tables/billing.ts";
export {
  createMemoryCertificates,
  type MemoryCertificates,
  type PresentedCertificate,
} from "./domains/certificate-store.ts";
export {
  createSimulatedAuthority,
  type SimulatedAuthority,
  type SimulatedAuthorityDeps,
  type SimulatedCertificate,
} from "./domains/simulated-authority.ts";
export type { SimulatedDns } from "./domains/simulated-dns.ts";
export { createManualClock, type ManualClock } from "./manual-clock.ts";
export type { SimulatedActivity } from "./usage/metrics.ts";
export type { SimulatedRecord, World } from "./world.ts";
