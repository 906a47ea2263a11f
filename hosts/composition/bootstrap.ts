/** The first key of an account, made where the server's data is. */
import type { AccountId } from "../../core/domain/account.ts";
import { resolveSettings } from "./settings.ts";

export interface BootstrapKey {
  readonly id: string;
  readonly key: string;
  /** Said to whoever makes it. */
  readonly warning?: string;
}

const NEIGHBOURS =
  "this folder has keys of another account. Below 'full' isolation (see /v1/capabilities) neighbours on this machine are not kept apart in every way: share it only among people who trust each other.";

export const createKeyInFolder = async (
  flags: { readonly dataDir: string | undefined },
  env: NodeJS.ProcessEnv,
  account: AccountId,
  label: string,
): Promise<BootstrapKey> => {
  const { dataDir } = resolveSettings(flags, env);
  const { createLocalIdentity } = await import("../../adapters/local/index.ts");
  const kept = createLocalIdentity(dataDir);
  try {
    const made = await kept.identity.keys.create(account, label);
    if (made.isErr()) throw new Error(made.error.message);
    const { id, key } = made.value;
    return kept.hasOtherAccounts(account) ? { id, key, warning: NEIGHBOURS } : { id, key };
  } finally {
    kept.close();
  }
};
