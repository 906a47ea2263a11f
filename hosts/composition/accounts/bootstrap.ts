/** Creates an API key directly in the server's key store, because the API needs a key for every request. */
import { createSystemClock, randomIds } from "../../../adapters/shared/runtime/system.ts";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { Identity } from "../../../core/ports/provider.ts";
import { createPino, loggerOf } from "../logger.ts";
import { resolveSettings, type ServeSettings } from "../settings.ts";
import { openSharedIdentity } from "./keys-database.ts";

export interface BootstrapKey {
  readonly id: string;
  readonly key: string;
  /** The data folder that contains the key, or undefined if the keys are in a shared database. */
  readonly folder?: string;
  /** A warning that the caller must show to the operator. */
  readonly warning?: string;
}

const NEIGHBOURS =
  "This data folder has API keys of another account. Services of different accounts are fully isolated only if `isolation` in /v1/capabilities is 'full'. Otherwise, share the platform only with people you trust.";

const newKey = async ({ keys }: Identity, account: AccountId, label: string): Promise<BootstrapKey> => {
  const made = await keys.create(account, label);
  if (made.isErr()) throw new Error(made.error.message);
  return { id: made.value.id, key: made.value.key };
};

const createKeyInDatabase = async (
  settings: ServeSettings,
  account: AccountId,
  label: string,
): Promise<BootstrapKey> => {
  const logger = loggerOf(createPino(settings.logLevel));
  const shared = await openSharedIdentity(settings, { clock: createSystemClock(), ids: randomIds, logger });
  try {
    return await newKey(shared.identity, account, label);
  } finally {
    await shared.close();
  }
};

export const createKeyInFolder = async (
  flags: { readonly dataDir: string | undefined },
  env: NodeJS.ProcessEnv,
  account: AccountId,
  label: string,
): Promise<BootstrapKey> => {
  const settings = resolveSettings(flags, env);
  const { dataDir } = settings;
  if (settings.keysDatabase !== undefined) return createKeyInDatabase(settings, account, label);
  const { createLocalIdentity } = await import("../../../adapters/local/index.ts");
  const kept = createLocalIdentity(dataDir);
  try {
    const made = await newKey(kept.identity, account, label);
    return { ...made, folder: dataDir, ...(kept.hasOtherAccounts(account) ? { warning: NEIGHBOURS } : {}) };
  } finally {
    kept.close();
  }
};
