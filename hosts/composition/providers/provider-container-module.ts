/**
 * Binds the provider that `--provider` selects: a built-in one, or the module at a path.
 */
import { ContainerModule } from "inversify";
import type { LocalDeps } from "../../../adapters/local/index.ts";
import { issuersOf } from "../accounts/issuers.ts";
import { type ServeSettings, SettingsError } from "../settings.ts";
import { tokens } from "../tokens.ts";
import { chooseProvider } from "./choose-provider.ts";
import { formatList, providers } from "./index.ts";

/** Only providers that build remotely have a bucket for sources. */
const refuseBucket = ({ provider, sourceSpool }: ServeSettings): void => {
  const clouds = providers.filter(({ keys }) => "sourceSpool" in keys).map(({ module }) => module.name);
  if (sourceSpool === "bucket" && !clouds.includes(provider))
    throw new SettingsError(
      `--source-spool bucket works only with the providers ${formatList(clouds)}, because '${provider}' has no bucket.`,
    );
};

/** Dependencies of the local provider. */
export type ProviderDeps = Pick<LocalDeps, "engineSocket" | "onEngineEnd" | "onApiConnection">;

/** @param stack closes the provider */
export const providerContainerModule = (
  settings: ServeSettings,
  given: ProviderDeps,
  stack: AsyncDisposableStack,
): ContainerModule =>
  new ContainerModule(({ bind }) => {
    bind(tokens.loaded).toResolvedValue(
      async (runtime) => {
        refuseBucket(settings);
        const { module, config } = await chooseProvider(settings);
        // Providers with their own credential store need the issuers.
        const deps = { ...runtime, ...given, issuers: issuersOf(settings) };
        const loaded = await module.load(config, deps);
        stack.defer(() => loaded.close?.());
        return loaded;
      },
      [tokens.runtime],
    );
    bind(tokens.provider).toResolvedValue(({ provider }) => provider, [tokens.loaded]);
  });
