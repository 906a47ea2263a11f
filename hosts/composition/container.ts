/**
 * A platform out of its settings: the only place that knows the container and the providers.
 *
 * The container arranges; the plain factories work without it. Parts are taken down in the opposite order of their making,
 * which the container's own teardown would not do.
 */
import "reflect-metadata";
import { Container, ContainerModule } from "inversify";
import type { Metrics } from "../../adapters/decorators/metrics/index.ts";
import { memoryDisk } from "../../adapters/shared/archives/spool-place.ts";
import { createSystemClock, randomIds } from "../../adapters/shared/runtime/system.ts";
import type { ControlPlane } from "../../core/control-plane.ts";
import type { Policy } from "../../core/domain/deploy/policy.ts";
import type { Billing } from "../../core/ports/billing.ts";
import type { Identity, Ports, Provider } from "../../core/ports/provider.ts";
import type { Clock, Ids, Logger } from "../../core/ports/system.ts";
import type { SettingsInput } from "../../core/use-cases/pipeline/context.ts";
import { issuersOf } from "./accounts/issuers.ts";
import { openSharedIdentity } from "./accounts/keys-database.ts";
import { createBilling } from "./billing.ts";
import { coreModule } from "./core-module.ts";
import { createPino, loggerOf } from "./logger.ts";
import { watch } from "./observability.ts";
import { type Ambient, loadProvider, type ProvidedParts } from "./providers/load-provider.ts";
import type { ServeSettings } from "./settings.ts";
import {
  BILLING,
  CLOCK,
  CONTROL_PLANE,
  IDENTITY,
  IDS,
  LOGGER,
  PORTS,
  PROVIDER,
  roots,
  SETTINGS,
  WATCHING,
} from "./tokens.ts";

/** Parts of an embedder's own, in the place of those that the settings make. */
export interface OwnParts {
  /** Puts a port of yours in the place of one of the provider's; docs/writing-an-adapter.md says which may be. */
  readonly provider?: (chosen: Provider) => Provider;
  readonly clock?: Clock;
  readonly ids?: Ids;
  /** For a pino of your own: `loggerOf`. */
  readonly logger?: Logger;
  readonly identity?: Identity;
  readonly billing?: Billing;
  /** Rules of your own about deploys, beside the settings' limits. */
  readonly policies?: readonly Policy[];
}

export interface Platform {
  /** Measured and traced already. */
  readonly controlPlane: ControlPlane;
  readonly ports: Ports;
  readonly log: ReturnType<typeof createPino>;
  readonly parts: ProvidedParts;
  /** Where the settings name a port for them. To listen there is the caller's, as is `onServed` of the plugin. */
  readonly metrics?: Metrics;
  /** Ends deploys, then services, then everything else. */
  close(): Promise<void>;
}

const coreSettings = (settings: ServeSettings, policies: readonly Policy[]): SettingsInput => {
  const { deployments, instances, volumes, buildsAtOnce, uploadsAtOnce, requestsPerMinute } = settings;
  const { buildSeconds, listenSeconds, deploysQueued, envAliases } = settings;
  return {
    policies,
    ...(envAliases === undefined ? {} : { envAliases }),
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

/** What surrounds a platform, the embedder's own parts before the system's. */
const surroundings = (settings: ServeSettings, own: OwnParts, log: ReturnType<typeof createPino>) =>
  new ContainerModule(({ bind }) => {
    bind(CLOCK).toConstantValue(own.clock ?? createSystemClock());
    bind(IDS).toConstantValue(own.ids ?? randomIds);
    bind(LOGGER).toConstantValue(own.logger ?? loggerOf(log));
    bind(SETTINGS).toConstantValue(coreSettings(settings, own.policies ?? []));
  });

type IdentityParts = Pick<ProvidedParts, "identity" | "claimFirstKey">;

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
  const kept = createLocalIdentity(settings.dataDir, {
    logger,
    issuers: issuersOf(settings),
    acceptState: settings.acceptState,
  });
  stack.defer(() => kept.close());
  return { identity: kept.identity, claimFirstKey: kept.claimFirstKey };
};

/** Credentials: in the database that the settings name, else what the provider brings, else in the data folder. */
const withIdentity = async (
  settings: ServeSettings,
  loaded: ProvidedParts,
  ambient: Ambient,
  stack: AsyncDisposableStack,
): Promise<ProvidedParts> => {
  if (settings.keysDatabase !== undefined) {
    const shared = await openSharedIdentity(settings, ambient);
    stack.defer(() => shared.close());
    return { ...loaded, identity: shared.identity, claimFirstKey: shared.claimFirstKey };
  }
  return loaded.identity === undefined
    ? { ...loaded, ...(await keptIdentity(settings, ambient.logger, stack)) }
    : loaded;
};

export const buildPlatform = async (settings: ServeSettings, own: OwnParts = {}): Promise<Platform> => {
  await using stack = new AsyncDisposableStack();
  const log = createPino(settings.logLevel);
  const container = new Container();
  container.load(surroundings(settings, own, log));
  container.bind(WATCHING).toConstantValue(await watch(settings, container.get(LOGGER)));
  const watching = container.get(WATCHING);
  const ambient = {
    clock: container.get(CLOCK),
    ids: container.get(IDS),
    logger: container.get(LOGGER),
    telemetry: watching.telemetry,
  };
  const loaded = await loadProvider(settings, ambient);
  stack.defer(() => loaded.close?.());
  const parts = own.identity === undefined ? await withIdentity(settings, loaded, ambient, stack) : loaded;
  container.bind(PROVIDER).toConstantValue(own.provider?.(parts.provider) ?? parts.provider);
  container.bind(IDENTITY).toConstantValue(own.identity ?? (parts.identity as Identity));
  container.bind(BILLING).toConstantValue(own.billing ?? (await createBilling(settings, ambient)));
  container.load(coreModule);
  await resolveAll(container);
  const controlPlane = container.get(CONTROL_PLANE);
  stack.defer(() => controlPlane.close());
  const teardown = stack.move();
  return {
    controlPlane,
    ports: container.get(PORTS),
    log,
    parts,
    ...(watching.metrics && { metrics: watching.metrics }),
    close: () => teardown.disposeAsync(),
  };
};
