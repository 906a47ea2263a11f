/**
 * Builds a platform from settings. Only this folder knows the DI container and the providers.
 *
 * The factories also work without the container. A disposable stack closes the parts in reverse order of creation,
 * which the container's own teardown does not do.
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

/** Replacements for parts that `buildPlatform` would otherwise create from the settings. All are optional. */
export interface OwnParts {
  /**
   * Returns the provider with some ports replaced: `(chosen) => ({ ...chosen, logs: myLogs })`.
   * docs/writing-an-adapter.md lists the ports that may be replaced.
   */
  readonly provider?: (chosen: Provider) => Provider;
  readonly clock?: Clock;
  readonly ids?: Ids;
  /** To use a pino instance of your own, wrap it with `loggerOf`. */
  readonly logger?: Logger;
  readonly identity?: Identity;
  readonly billing?: Billing;
  /** Rules about deploys, applied in addition to the settings' limits. */
  readonly policies?: readonly Policy[];
}

export interface Platform {
  /** Already instrumented with metrics and traces. */
  readonly controlPlane: ControlPlane;
  readonly ports: Ports;
  readonly log: ReturnType<typeof createPino>;
  readonly parts: ProvidedParts;
  /** Present if the settings have a `metricsPort`. The caller must listen on it and set the plugin's `onServed`. */
  readonly metrics?: Metrics;
  /** Stops deploys first, then services, then everything else. */
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

/** Resolves every part once, so that a missing binding fails at startup and not at the first request. */
const resolveAll = async (container: Container): Promise<void> => {
  for (const root of roots) await container.getAsync(root);
};

/** Binds the runtime dependencies. The embedder's overrides take precedence over the defaults. */
const surroundings = (settings: ServeSettings, own: OwnParts, log: ReturnType<typeof createPino>) =>
  new ContainerModule(({ bind }) => {
    bind(CLOCK).toConstantValue(own.clock ?? createSystemClock());
    bind(IDS).toConstantValue(own.ids ?? randomIds);
    bind(LOGGER).toConstantValue(own.logger ?? loggerOf(log));
    bind(SETTINGS).toConstantValue(coreSettings(settings, own.policies ?? []));
  });

type IdentityParts = Pick<ProvidedParts, "identity" | "claimFirstKey">;

/** Keeps keys in the data folder, for a provider without an identity of its own. */
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

/** Adds the identity: the configured keys database, otherwise the provider's own, otherwise keys in the data folder. */
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

/**
 * Builds and starts a platform, without any HTTP listener. The caller must call `close()` when it is done.
 *
 * @param own overrides of single parts
 * @throws SettingsError if the settings do not suit the provider or the keys database cannot be used
 * @example
 * const platform = await buildPlatform(resolveSettings({ dataDir: "./data" }, process.env));
 */
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
