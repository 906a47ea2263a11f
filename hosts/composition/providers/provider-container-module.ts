/** Wraps any provider module for the container: one of this repository or one that `--provider` names by path. */
import { ContainerModule } from "inversify";
import { issuersOf } from "../accounts/issuers.ts";
import { type ServeSettings, SettingsError } from "../settings.ts";
import { tokens } from "../tokens.ts";
import { chooseProvider } from "./choose-provider.ts";
import { listed, providers } from "./index.ts";

/** Providers that build remotely have a bucket in which sources can wait. */
const refuseBucket = ({ provider, sourceSpool }: ServeSettings): void => {
  const clouds = providers.filter(({ keys }) => "sourceSpool" in keys).map(({ module }) => module.name);
  if (sourceSpool === "bucket" && !clouds.includes(provider))
    throw new SettingsError(
      `--source-spool bucket is for the providers ${listed(clouds)}; '${provider}' has no bucket.`,
    );
};

/** @param stack closes the provider */
export const providerContainerModule = (settings: ServeSettings, stack: AsyncDisposableStack): ContainerModule =>
  new ContainerModule(({ bind }) => {
    bind(tokens.loaded).toResolvedValue(
      async (runtime) => {
        refuseBucket(settings);
        const { module, config } = await chooseProvider(settings);
        // Providers with their own identity need the issuers.
        const deps = { ...runtime, issuers: issuersOf(settings) };
        const loaded = await module.load(config, deps);
        stack.defer(() => loaded.close?.());
        return loaded;
      },
      [tokens.runtime],
    );
    bind(tokens.provider).toResolvedValue(({ provider }) => provider, [tokens.loaded]);
  });
