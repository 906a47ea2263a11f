/**
 * A platform out of its settings: the only place that knows the container and the providers.
 *
 * The container arranges, and lets an embedder bind any part anew; the plain factories work without it. Parts are
 * taken down in the opposite order of their making, which the container's own teardown would not do.
 */
import "reflect-metadata";
import { Container, ContainerModule } from "inversify";
import { memoryDisk } from "../../adapters/shared/spool-place.ts";
import { createSystemClock, randomIds } from "../../adapters/shared/system.ts";
import type { ControlPlane } from "../../core/control-plane.ts";
import type { Identity, Ports } from "../../core/ports/provider.ts";
import type { Logger } from "../../core/ports/system.ts";
import type { SettingsInput } from "../../core/use-cases/context.ts";
import { createBilling } from "./billing.ts";
import { coreModule } from "./core-module.ts";
import { issuersOf } from "./issuers.ts";
import { openSharedIdentity } from "./keys-database.ts";
import { createPino, loggerOf } from "./logger.ts";
import { type Ambient, loadProvider, type ProvidedParts } from "./providers.ts";
import type { ServeSettings } from "./settings.ts";
import { BILLING, CLOCK, CONTROL_PLANE, IDENTITY, IDS, LOGGER, PORTS, PROVIDER, roots, SETTINGS } from "./tokens.ts";

export interface Platform {
  readonly controlPlane: ControlPlane;
  readonly ports: Ports;
  readonly log: ReturnType<typeof createPino>;
  readonly parts: ProvidedParts;
  /** Ends deploys, then services, then everything else. */
  close(): Promise<void>;
}

const coreSettings = (settings: ServeSettings): SettingsInput => {
  const { deployments, instances, volumes, buildsAtOnce, uploadsAtOnce, requestsPerMinute } = settings;
  const { buildSeconds, listenSeconds, deploysQueued } = settings;
  return {
    accountLimits: { deployments, instances, volumes, buildsAtOnce, uploadsAtOnce, requestsPerMinute },
    deployLimits: {
      ...(buildSeconds === undefined ? {} : { buildDeadline: buildSeconds * 1000 }),
      ...(listenSeconds === undefined ? {} : { listenDeadline: listenSeconds * 1000 }),
      queuedPerName: deploysQueued,
    },
  };
};

/** Asks for every part once, so that a missing binding shows at start and not at the first request. */
const resolveAll = async (container: Container): Promise<void> => {
  for (const root of roots) await container.getAsync(root);
};

/** The system's parts, unless an embedder has bound its own before. */
const systemModule = new ContainerModule(({ bind, isBound }) => {
  if (!isBound(CLOCK)) bind(CLOCK).toConstantValue(createSystemClock());
  if (!isBound(IDS)) bind(IDS).toConstantValue(randomIds);
});

type IdentityParts = Pick<ProvidedParts, "identity" | "countKeys">;

/** Keys in the data folder, for a provider that brings no identity of its own. */
const keptIdentity = async (
  settings: ServeSettings,
  logger: Logger,
  stack: AsyncDisposableStack,
): Promise<IdentityParts> => {
  const memory = memoryDisk(settings.dataDir, process.env);
  if (memory !== undefined && settings.jwtIssuer === undefined)
    logger.warn(`keys are in ${settings.dataDir}, but ${memory}: they are gone with it; name a --keys-database`);
  const { createLocalIdentity } = await import("../../adapters/local/index.ts");
  const kept = createLocalIdentity(settings.dataDir, { logger, issuers: issuersOf(settings) });
  stack.defer(() => kept.close());
  return { identity: kept.identity, countKeys: kept.countKeys };
};

/** The database that the settings name, else what the provider brings, else the data folder. */
const chosenIdentity = async (
  settings: ServeSettings,
  loaded: ProvidedParts,
  ambient: Ambient,
  stack: AsyncDisposableStack,
): Promise<IdentityParts> => {
  if (settings.keysDatabase !== undefined) {
    const shared = await openSharedIdentity(settings, ambient);
    stack.defer(() => shared.close());
    return { identity: shared.identity, countKeys: shared.countKeys };
  }
  return loaded.identity === undefined ? keptIdentity(settings, ambient.logger, stack) : {};
};

/** @param prepare binds parts of an embedder's own (a clock, a logger, an identity) before anything is made of them */
export const buildPlatform = async (
  settings: ServeSettings,
  prepare?: (container: Container) => void,
): Promise<Platform> => {
  await using stack = new AsyncDisposableStack();
  const log = createPino(settings.logLevel);
  const container = new Container();
  prepare?.(container);
  container.load(systemModule);
  if (!container.isBound(LOGGER)) container.bind(LOGGER).toConstantValue(loggerOf(log));
  if (!container.isBound(SETTINGS)) container.bind(SETTINGS).toConstantValue(coreSettings(settings));
  const ambient = { clock: container.get(CLOCK), ids: container.get(IDS), logger: container.get(LOGGER) };
  const loaded = await loadProvider(settings, ambient);
  stack.defer(() => loaded.close?.());
  const parts = container.isBound(IDENTITY)
    ? loaded
    : { ...loaded, ...(await chosenIdentity(settings, loaded, ambient, stack)) };
  container.bind(PROVIDER).toConstantValue(parts.provider);
  if (!container.isBound(IDENTITY)) container.bind(IDENTITY).toConstantValue(parts.identity as Identity);
  if (!container.isBound(BILLING)) container.bind(BILLING).toConstantValue(await createBilling(settings, ambient));
  container.load(coreModule);
  await resolveAll(container);
  const controlPlane = container.get(CONTROL_PLANE);
  stack.defer(() => controlPlane.close());
  const teardown = stack.move();
  return { controlPlane, ports: container.get(PORTS), log, parts, close: () => teardown.disposeAsync() };
};
