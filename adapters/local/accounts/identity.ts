/** Opens the credentials of a data folder: API keys, the key that signs tokens, and the console's sessions. */
import { resolve } from "node:path";
import type { JWK } from "jose";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { Identity } from "../../../core/ports/provider.ts";
import type { Logger } from "../../../core/ports/system.ts";
import { createIdentity, generateSigningKey, type JwtIssuer } from "../../jwt/index.ts";
import { createSystemClock, randomIds } from "../../shared/runtime/system.ts";
import { openState } from "../state/database.ts";
import { createKeyRows } from "../state/keys.ts";
import { SettingRows } from "../state/settings.ts";
import { SessionsFile } from "./sessions-file.ts";

export const silent: Logger = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

/** Returns a function that loads the key for signing tokens. If the state contains no key, the function creates one. */
export const storedSigningKey = (settings: SettingRows) => async (): Promise<JWK> =>
  JSON.parse(await settings.getOrCreate("signing_key", async () => JSON.stringify(await generateSigningKey()))) as JWK;

export interface FolderIdentity {
  readonly identity: Identity;
  /** Returns true if the folder has no API key yet. */
  claimFirstKey(): boolean;
  /** Returns true if the folder has API keys of another account. */
  hasOtherAccounts(account: AccountId): boolean;
  close(): void;
}

export interface FolderIdentityOptions {
  readonly logger?: Logger;
  readonly issuers?: readonly JwtIssuer[];
  /** See `LocalConfig.acceptState`. */
  readonly acceptState?: boolean | undefined;
}

/** Opens the credentials of a data folder without starting a provider. A server may use the folder at the same time. */
export const createLocalIdentity = (
  dataDir: string,
  { logger = silent, issuers = [], acceptState }: FolderIdentityOptions = {},
): FolderIdentity => {
  const db = openState(resolve(dataDir), { logger, acceptState });
  const sessions = new SessionsFile(resolve(dataDir), logger);
  const keys = createKeyRows(db);
  const identity = createIdentity({
    records: keys,
    sessionRecords: sessions,
    loadSigningKey: storedSigningKey(new SettingRows(db)),
    issuers,
    clock: createSystemClock(),
    ids: randomIds,
    logger,
  });
  return {
    identity,
    claimFirstKey: () => keys.count() === 0,
    hasOtherAccounts: (account) => keys.hasOther(account),
    close: () => {
      sessions.close();
      db.close();
    },
  };
};
