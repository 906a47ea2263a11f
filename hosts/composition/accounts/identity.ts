/** Selects the credential store: the keys database, the provider's own store, or the data folder, in this order. */
import { memoryDisk } from "../../../adapters/shared/archives/spool-location.ts";
import type { LoadedProvider, RuntimeDeps } from "../../../core/ports/provider-module.ts";
import type { ServeSettings } from "../settings.ts";
import type { PlatformIdentity } from "../tokens.ts";
import { issuersOf } from "./issuers.ts";
import { openSharedIdentity } from "./keys-database.ts";

const openFolderIdentity = async (settings: ServeSettings, { logger }: RuntimeDeps) => {
  const { dataDir, jwtIssuer, acceptState } = settings;
  const memory = memoryDisk(dataDir, process.env);
  if (memory !== undefined && jwtIssuer === undefined)
    logger.warn(
      `API keys are stored in ${dataDir}, but ${memory}. A restart deletes them. Store them in PostgreSQL with --keys-database.`,
    );
  const { createLocalIdentity } = await import("../../../adapters/local/index.ts");
  return createLocalIdentity(dataDir, { logger, issuers: issuersOf(settings), acceptState });
};

/** @param stack closes the credential store */
export const openIdentity = async (
  settings: ServeSettings,
  loaded: LoadedProvider,
  runtime: RuntimeDeps,
  stack: AsyncDisposableStack,
): Promise<PlatformIdentity> => {
  const { identity } = loaded;
  if (settings.keysDatabase === undefined && identity !== undefined)
    return { identity, claimFirstKey: async () => (await loaded.claimFirstKey?.()) ?? false };
  const open = settings.keysDatabase === undefined ? openFolderIdentity : openSharedIdentity;
  const opened = await open(settings, runtime);
  stack.defer(() => opened.close());
  return opened;
};
