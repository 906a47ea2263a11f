/** `portside secret rekey`: encrypts all secrets and private keys under a new key. */
import { existsSync } from "node:fs";
import { join, resolve } from "node:path";
import { DataFolderError, explainFileError, noDataFolder } from "../data-folder/data-folder-error.ts";
import { CertificateRows, noCertificate, noNext } from "../state/certificates.ts";
import { openState, transaction } from "../state/database.ts";
import { STATE_FILE } from "../state/inspect.ts";
import { lockDataDir } from "../state/lock-data-dir.ts";
import { type SecretRow, SecretRows } from "../state/secrets.ts";
import { SettingRows } from "../state/settings.ts";
import { KEY_CHECK, keyPathOf, prepareKey, replaceKey } from "./key-file.ts";
import type { PrivateKeyId, SecretCipher } from "./secret-cipher.ts";

export interface RekeyOptions {
  readonly dataDir: string;
  /** The setting `secretsKeyFile`. */
  readonly secretsKeyFile?: string | undefined;
  /** Whether to delete all secrets, because their key is lost. */
  readonly discard?: boolean;
}

export interface RekeySummary {
  /** The path of the key file. */
  readonly keyFile: string;
  /** The number of versions that the new key encrypts. */
  readonly versions: number;
  /** The number of versions that were deleted. */
  readonly discarded: number;
}

const damaged = ({ owner, name, version }: SecretRow): DataFolderError =>
  new DataFolderError(
    "damaged",
    STATE_FILE,
    `Version ${version} of the secret '${name}' of the account '${owner}' cannot be decrypted, because the stored data is damaged. Nothing was changed. Delete that version, then run the command again.`,
  );

/** Re-encrypts every version, and computes the digests with the new key. */
const reencrypt = (rows: SecretRows, before: SecretCipher, after: SecretCipher): number => {
  const all = rows.all();
  for (const row of all) {
    const value = before.open(row, row.sealed);
    if (value === undefined) throw damaged(row);
    rows.replace({ ...row, digest: after.digest(row, value), sealed: after.seal(row, value) });
  }
  return all.length;
};

/**
 * Re-encrypts the private keys of certificates and of accounts at authorities. Removes each key that cannot be
 * decrypted. The server then creates a new account, or orders a new certificate.
 * @param before undefined if the current key is lost
 */
const reencryptPrivateKeys = (rows: CertificateRows, before: SecretCipher | undefined, after: SecretCipher): void => {
  const reseal = (id: PrivateKeyId, sealed: Uint8Array | null): Uint8Array | null => {
    const pem = sealed === null ? undefined : before?.openPrivateKey(id, sealed);
    return pem === undefined ? null : after.sealPrivateKey(id, pem);
  };
  for (const { directory, key, url } of rows.accounts()) {
    const resealed = reseal({ kind: "authority", name: directory }, key);
    if (resealed === null) rows.removeAccount(directory);
    else rows.putAccount({ directory, key: resealed, url });
  }
  for (const { host, key, nextKey } of rows.all()) {
    const id: PrivateKeyId = { kind: "host", name: host };
    const [current, next] = [reseal(id, key), reseal(id, nextKey)];
    rows.change(host, {
      ...(current === null ? noCertificate : { key: current }),
      ...(next === null ? noNext : { nextKey: next }),
    });
  }
};

/**
 * Encrypts the secrets and private keys of a data folder under a new key. Throws a `DataFolderError` of kind `in_use`
 * if a server uses the folder, of kind `damaged` if a secret cannot be decrypted, or of kind `secrets_key` if the
 * current key is missing or wrong, or its file cannot be replaced.
 */
export const rekeySecrets = (options: RekeyOptions): RekeySummary => {
  const dataDir = resolve(options.dataDir);
  if (!existsSync(join(dataDir, STATE_FILE))) throw noDataFolder(dataDir);
  const keyFile = keyPathOf(dataDir, options.secretsKeyFile);
  try {
    using _lock = lockDataDir(dataDir);
    using db = openState(dataDir);
    const [rows, settings] = [new SecretRows(db), new SettingRows(db)];
    const discarded = options.discard === true ? rows.all().length : 0;
    let versions = 0;
    const before = options.discard === true ? undefined : prepareKey(db, dataDir, options.secretsKeyFile);
    replaceKey(keyFile, settings.get(KEY_CHECK), (after) =>
      transaction(db, () => {
        if (before === undefined) rows.clear();
        else versions = reencrypt(rows, before, after);
        reencryptPrivateKeys(new CertificateRows(db), before, after);
        settings.set(KEY_CHECK, after.check);
      }),
    );
    return { keyFile, versions, discarded };
  } catch (error) {
    throw explainFileError(error, keyFile) ?? error;
  }
};
