/**
 * Builds a platform from settings. Only this folder uses the DI container and imports the providers.
 *
 * The container creates the parts and applies overrides. A disposable stack closes the parts in order, because the
 * container would close its singletons concurrently (docs/decisions/0032-providers-as-modules.md).
 */
import "reflect-metadata";
import { Container, type ServiceIdentifier } from "inversify";
import type { Metrics } from "../../adapters/decorators/metrics/index.ts";
import { compileRe2 } from "../../adapters/shared/logs/re2.ts";
import { type ControlPlane, createControlPlane } from "../../core/control-plane.ts";
import type { Policy } from "../../core/domain/deploy/policy.ts";
import type { Billing } from "../../core/ports/billing.ts";
import type { Identity, Ports, Provider } from "../../core/ports/provider.ts";
import type { LoadedProvider } from "../../core/ports/provider-module.ts";
import type { Clock, Ids, Logger } from "../../core/ports/system.ts";
import type { SettingsInput } from "../../core/use-cases/pipeline/context.ts";
import { createPino, loggerOf } from "./logger.ts";
import { platformContainerModule } from "./platform-container-module.ts";
import { type ProviderDeps, providerContainerModule } from "./providers/provider-container-module.ts";
import type { ServeSettings } from "./settings.ts";
import { type PlatformIdentity, tokens } from "./tokens.ts";

/** Replacements for parts that `buildPlatform` would otherwise create from the settings. All are optional. */
export interface PlatformOverrides {
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
  /** The chosen provider, without the override of its ports. */
  readonly loaded: LoadedProvider;
  /** Returns true if the caller must create the first key. Absent if `identity` is overridden. */
  readonly claimFirstKey?: PlatformIdentity["claimFirstKey"];
  /** Present if the settings have a `metricsPort`. The caller must listen on it and set the plugin's `onServed`. */
  readonly metrics?: Metrics;
  /** Stops deploys first, then services, then everything else. */
  close(): Promise<void>;
}

const coreSettings = (settings: ServeSettings, policies: readonly Policy[]): SettingsInput => {
  const { deployments, instances, volumes, customDomains, buildsAtOnce, uploadsAtOnce, requestsPerMinute } = settings;
  const { buildSeconds, listenSeconds, deploysQueued, envAliases } = settings;
  return {
    policies,
    ...(envAliases === undefined ? {} : { envAliases }),
    accountLimits: {
      deployments,
      instances,
      volumes,
      buildsAtOnce,
      uploadsAtOnce,
      requestsPerMinute,
      domains: customDomains,
    },
    deployLimits: {
      ...(buildSeconds === undefined ? {} : { buildDeadlineMs: buildSeconds * 1000 }),
      ...(listenSeconds === undefined ? {} : { listenDeadlineMs: listenSeconds * 1000 }),
      queuedPerName: deploysQueued,
    },
  };
};

const rebind = (container: Container, overrides: PlatformOverrides): void => {
  const { clock, ids, logger, identity, billing, policies, provider } = overrides;
  const replace = <T>(token: ServiceIdentifier<T>, value: T | undefined): void => {
    if (value !== undefined) container.rebind(token).toConstantValue(value);
  };
  replace(tokens.clock, clock);
  replace(tokens.ids, ids);
  replace(tokens.logger, logger);
  replace(tokens.identity, identity && { identity });
  replace(tokens.billing, billing);
  replace(tokens.policies, policies);
  if (provider !== undefined)
    container.rebind(tokens.provider).toResolvedValue((loaded) => provider(loaded.provider), [tokens.loaded]);
};

/**
 * Builds and starts a platform, without any HTTP listener. The caller must call `close()` when it is done.
 *
 * @param overrides replacements for individual parts
 * @param deps for the local provider: the socket of an engine in another process
 * @throws SettingsError if the settings are invalid for the provider or the keys database cannot be used
 * @example
 * const platform = await buildPlatform(resolveSettings({ dataDir: "./data" }, process.env));
 */
export const buildPlatform = async (
  settings: ServeSettings,
  overrides: PlatformOverrides = {},
  deps: ProviderDeps = {},
): Promise<Platform> => {
  await using stack = new AsyncDisposableStack();
  const log = createPino(settings.logLevel);
  const container = new Container({ defaultScope: "Singleton" });
  container.load(
    platformContainerModule(settings, loggerOf(log), stack),
    providerContainerModule(settings, deps, stack),
  );
  rebind(container, overrides);

  // Gets the parts one at a time. Otherwise the container would create them concurrently, but the stack needs an order.
  const { clock, ids, logger } = await container.getAsync(tokens.runtime);
  const loaded = await container.getAsync(tokens.loaded);
  const provider = await container.getAsync(tokens.provider);
  const { identity, claimFirstKey } = await container.getAsync(tokens.identity);
  const billing = await container.getAsync(tokens.billing);
  const { ports: instrument, controlPlane: measured, metrics } = await container.getAsync(tokens.observability);

  const ports = instrument({ provider, identity, billing, clock, ids, logger, compilePattern: compileRe2 });
  const controlPlane = measured(createControlPlane(ports, coreSettings(settings, container.get(tokens.policies))));
  stack.defer(() => controlPlane.close());
  const teardown = stack.move();
  return {
    controlPlane,
    ports,
    log,
    loaded,
    ...(claimFirstKey && { claimFirstKey }),
    ...(metrics && { metrics }),
    close: () => teardown.disposeAsync(),
  };
};
