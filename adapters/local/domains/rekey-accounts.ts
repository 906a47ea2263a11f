/** `portside domain rekey`: replaces the keys of the accounts at certificate authorities. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import type { CallOptions, Clock, Logger } from "../../../core/ports/system.ts";
import { explainFileError, noDataFolder } from "../data-folder/data-folder-error.ts";
import { keyPathOf, prepareKey } from "../secrets/key-file.ts";
import { CertificateRows } from "../state/certificates.ts";
import { openState } from "../state/database.ts";
import { STATE_FILE } from "../state/inspect.ts";
import { lockDataDir } from "../state/lock-data-dir.ts";
import { createAuthorities } from "./authorities.ts";
import type { DomainSettings } from "./settings.ts";

export interface RekeyAccountsOptions extends CallOptions {
  readonly settings: DomainSettings & { readonly dataDir: string; readonly secretsKeyFile?: string | undefined };
  /** Whether to remove the accounts, so that the server registers new ones. */
  readonly discard: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface RekeyedAccount {
  /** The URL of the authority's directory. */
  readonly directory: string;
  /** Why the key was not replaced; null if it was. */
  readonly problem: string | null;
}

/**
 * Replaces the key of each account in a data folder, or removes the accounts if `discard` is set. Throws a
 * `DataFolderError` of kind `in_use` if a server uses the folder, or of kind `secrets_key` if the folder contains
 * secrets and their key is missing or wrong.
 */
export const rekeyAccounts = async ({
  settings,
  discard,
  clock,
  logger,
  signal,
}: RekeyAccountsOptions): Promise<readonly RekeyedAccount[]> => {
  const dataDir = resolve(settings.dataDir);
  if (!existsSync(join(dataDir, STATE_FILE))) throw noDataFolder(dataDir);
  try {
    using _lock = lockDataDir(dataDir);
    using db = openState(dataDir);
    const rows = new CertificateRows(db);
    const cipher = prepareKey(db, dataDir, settings.secretsKeyFile);
    // The server replaces an account whose key cannot be decrypted.
    const isLost = ({ directory, key }: ReturnType<typeof rows.accounts>[number]) =>
      cipher.openPrivateKey({ kind: "authority", name: directory }, key) === undefined;
    const directories = rows.accounts().flatMap((row) => (isLost(row) ? [] : row.directory));
    if (discard) {
      for (const directory of directories) rows.removeAccount(directory);
      return directories.map((directory) => ({ directory, problem: null }));
    }
    await using stack = new AsyncDisposableStack();
    const deps = { rows, cipher, clock, logger };
    const authorities = createAuthorities({ ...settings, acmeDirectory: directories }, deps);
    stack.defer(async () => void (await Promise.all(authorities.map((authority) => authority.close()))));
    const rekeyed: RekeyedAccount[] = [];
    for (const [index, authority] of authorities.entries()) {
      const changed = await authority.changeKey(signal === undefined ? {} : { signal });
      const problem = changed.isOk() ? null : changed.error.message;
      rekeyed.push({ directory: directories[index] as string, problem });
    }
    return rekeyed;
  } catch (error) {
    throw explainFileError(error, keyPathOf(dataDir, settings.secretsKeyFile)) ?? error;
  }
};
