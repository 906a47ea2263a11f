/**
 * The key of the secrets, in a separate file, so that a copy of the state alone reveals no value. The state stores a
 * check of the key, to detect a wrong key at the start.
 */
import { randomBytes } from "node:crypto";
import { closeSync, fchmodSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import { DataFolderError, explainFileError } from "../data-folder/data-folder-error.ts";
import { KEY_FILE } from "../data-folder/layout.ts";
import { syncFolder } from "../state/check-file.ts";
import { SettingRows } from "../state/settings.ts";
import { selectFirst } from "../state/sql.ts";
import { KEY_BYTES, SecretCipher } from "./secret-cipher.ts";

/** The setting that stores the check of the key. */
export const KEY_CHECK = "secrets_key_check";

/** The new key during a rekey. The rekey renames it when the state contains the values under the new key. */
const pendingOf = (path: string): string => `${path}.new`;

/** Returns the path of the key file. @param configured the setting `secretsKeyFile` */
export const keyPathOf = (dataDir: string, configured: string | undefined): string =>
  configured ?? join(dataDir, KEY_FILE);

const readKey = (path: string): Uint8Array | "damaged" | undefined => {
  try {
    const key = Buffer.from(readFileSync(path, "utf8").trim(), "base64");
    return key.length === KEY_BYTES ? key : "damaged";
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw explainFileError(error, path) ?? error;
  }
};

/** Writes the file completely or not at all. */
const writeKey = (path: string, key: Uint8Array): void => {
  try {
    const file = openSync(path, "wx", 0o600);
    try {
      fchmodSync(file, 0o600);
      writeSync(file, `${Buffer.from(key).toString("base64")}\n`);
      fsyncSync(file);
    } finally {
      closeSync(file);
    }
    syncFolder(dirname(path));
  } catch (error) {
    throw explainFileError(error, path) ?? error;
  }
};

const hasSecrets = (db: DatabaseSync): boolean => selectFirst(db, "SELECT 1 FROM secrets LIMIT 1") !== undefined;

const wrongKey = (path: string, fact: string): DataFolderError =>
  new DataFolderError(
    "secrets_key",
    path,
    `The key file of the secrets, ${path}, ${fact}. Put the right key there, or name its file with --secrets-key-file or PORTSIDE_SECRETS_KEY_FILE. If the key is lost, 'portside secret rekey --discard' deletes all secrets and creates a new key.`,
  );

const cipherAt = (path: string): SecretCipher | undefined => {
  const key = readKey(path);
  if (key === "damaged") throw wrongKey(path, `must contain ${KEY_BYTES} bytes as base64, but does not`);
  return key === undefined ? undefined : new SecretCipher(key);
};

/** Returns the pending key, or undefined if there is none. A crash may have left a part of it. */
const pendingCipher = (path: string): SecretCipher | undefined => {
  const key = readKey(pendingOf(path));
  return key === undefined || key === "damaged" ? undefined : new SecretCipher(key);
};

/** Completes a rekey that ended between its commit and its rename. */
const completeRekey = (path: string, check: string): SecretCipher | undefined => {
  const pending = pendingCipher(path);
  if (pending?.matches(check) !== true) return undefined;
  renameSync(pendingOf(path), path);
  syncFolder(dirname(path));
  return pending;
};

/**
 * Returns the cipher of the key in the file. Throws a `DataFolderError` of kind `secrets_key` if the file is missing,
 * or is not the key with this check.
 * @param check the setting `KEY_CHECK`
 */
export const loadCipher = (path: string, check: string | undefined): SecretCipher => {
  const cipher = cipherAt(path);
  if (cipher === undefined) throw wrongKey(path, "is missing");
  if (check === undefined || !cipher.matches(check))
    throw wrongKey(path, "contains another key than the one that encrypted the stored secrets");
  return cipher;
};

const createKey = (path: string): SecretCipher => {
  writeKey(path, randomBytes(KEY_BYTES));
  return cipherAt(path) as SecretCipher;
};

/**
 * Ensures that the key file fits the stored secrets. Creates the key of a folder without secrets. Throws a
 * `DataFolderError` of kind `secrets_key` if the key is missing or wrong. Only one process may use the state.
 * @param configured the setting `secretsKeyFile`
 */
export const prepareKey = (db: DatabaseSync, dataDir: string, configured: string | undefined): SecretCipher => {
  const path = keyPathOf(dataDir, configured);
  const settings = new SettingRows(db);
  const check = settings.get(KEY_CHECK);
  // Nothing depends on a damaged key. A file outside of the data folder may be another file of the operator.
  if (configured === undefined && !hasSecrets(db) && readKey(path) === "damaged") rmSync(path);
  const cipher = cipherAt(path);
  if (check !== undefined && cipher?.matches(check) === true) {
    rmSync(pendingOf(path), { force: true });
    return cipher;
  }
  const completed = check === undefined ? undefined : completeRekey(path, check);
  if (completed !== undefined) return completed;
  if (hasSecrets(db)) return loadCipher(path, check);
  const accepted = cipher ?? createKey(path);
  settings.set(KEY_CHECK, accepted.check);
  return accepted;
};

/**
 * Creates a new key, and lets `commit` change the state. If the process ends in between, the next start uses the key
 * that fits the state.
 */
export const replaceKey = (path: string, commit: (cipher: SecretCipher) => void): void => {
  rmSync(pendingOf(path), { force: true });
  commit(createKey(pendingOf(path)));
  renameSync(pendingOf(path), path);
  syncFolder(dirname(path));
};
