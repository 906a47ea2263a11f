/**
 * The secrets key, in a separate file, so that a copy of the state alone reveals no value. The state stores a check
 * value of the key, to detect a wrong key at startup.
 */
import { randomBytes } from "node:crypto";
import {
  closeSync,
  existsSync,
  fchmodSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import type { DatabaseSync } from "node:sqlite";
import type { Logger } from "../../../core/ports/system.ts";
import { DataFolderError, explainFileError } from "../data-folder/data-folder-error.ts";
import { KEY_FILE } from "../data-folder/layout.ts";
import { syncFolder } from "../state/check-file.ts";
import { SettingRows } from "../state/settings.ts";
import { selectFirst } from "../state/sql.ts";
import { KEY_BYTES, SecretCipher } from "./secret-cipher.ts";

/** The setting that stores the check value of the key. */
export const KEY_CHECK = "secrets_key_check";

/** The new key during a rekey. The rekey renames it once the state contains the re-encrypted values. */
const pendingOf = (path: string): string => `${path}.new`;

/** A copy of the key file. A rekey first renames it over the key file, to test whether the file can be replaced. */
const copyOf = (path: string): string => `${path}.copy`;

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

/** Creates a file that only its owner can read. Fails if the file exists. */
const writePrivate = (path: string, content: Uint8Array): void => {
  const file = openSync(path, "wx", 0o600);
  try {
    fchmodSync(file, 0o600);
    writeSync(file, content);
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  syncFolder(dirname(path));
};

const formatKey = (key: Uint8Array): string => `${Buffer.from(key).toString("base64")}\n`;

const writeKey = (path: string, key: Uint8Array): void => {
  try {
    writePrivate(path, Buffer.from(formatKey(key)));
  } catch (error) {
    throw explainFileError(error, path) ?? error;
  }
};

/** Returns whether the state stores a secret of any account. */
export const hasSecrets = (db: DatabaseSync): boolean => selectFirst(db, "SELECT 1 FROM secrets LIMIT 1") !== undefined;

/** Returns whether the state stores private keys, which the secrets key encrypts too. The server can replace them. */
export const hasPrivateKeys = (db: DatabaseSync): boolean =>
  selectFirst(
    db,
    "SELECT 1 FROM authority_accounts UNION SELECT 1 FROM certificates WHERE coalesce(key, next_key) IS NOT NULL LIMIT 1",
  ) !== undefined;

const wrongKey = (path: string, fact: string): DataFolderError =>
  new DataFolderError(
    "secrets_key",
    path,
    `The secrets key file ${path} ${fact}. Put the right key there, or name its file with --secrets-key-file or PORTSIDE_SECRETS_KEY_FILE. If the key is lost, 'portside secret rekey --discard' deletes all secrets and creates a new key.`,
  );

const cipherAt = (path: string): SecretCipher | undefined => {
  const key = readKey(path);
  if (key === "damaged") throw wrongKey(path, `must contain ${KEY_BYTES} bytes as base64, but does not`);
  return key === undefined ? undefined : new SecretCipher(key);
};

/**
 * Returns the cipher of the key in the file, or undefined if the file is missing, damaged or contains a different key.
 */
const matchingCipher = (file: string, check: string | undefined): SecretCipher | undefined => {
  const key = check === undefined ? undefined : readKey(file);
  if (check === undefined || key === undefined || key === "damaged") return undefined;
  const cipher = new SecretCipher(key);
  return cipher.matches(check) ? cipher : undefined;
};

const renamePending = (path: string): void => {
  renameSync(pendingOf(path), path);
  syncFolder(dirname(path));
};

/** Completes a rekey that was interrupted between its commit and its rename. */
const completeRekey = (
  path: string,
  check: string | undefined,
  logger: Logger | undefined,
): SecretCipher | undefined => {
  const pending = matchingCipher(pendingOf(path), check);
  if (pending === undefined) return undefined;
  try {
    renamePending(path);
  } catch (cause) {
    // The key in use must not depend on whether its file can be renamed.
    logger?.warn("using the new key of an interrupted rekey, because the key file cannot be replaced", {
      keyFile: path,
      newKeyFile: pendingOf(path),
      cause,
    });
  }
  return pending;
};

/**
 * Returns the cipher of the key in the file, or of the new key of an interrupted rekey. Throws a `DataFolderError` of
 * kind `secrets_key` if neither matches the check.
 * @param check the setting `KEY_CHECK`
 */
export const loadCipher = (path: string, check: string | undefined): SecretCipher => {
  const pending = matchingCipher(pendingOf(path), check);
  if (pending !== undefined) return pending;
  const cipher = cipherAt(path);
  if (cipher === undefined) throw wrongKey(path, "is missing");
  if (check === undefined || !cipher.matches(check))
    throw wrongKey(path, "does not contain the key that encrypted the stored secrets");
  return cipher;
};

/**
 * Returns the content of the file whose key matches the check: the key file, or the new key of an interrupted rekey.
 * Throws a `DataFolderError` of kind `secrets_key` if neither matches.
 * @param check the setting `KEY_CHECK`
 */
export const readMatchingKey = (path: string, check: string): string => {
  for (const file of [path, pendingOf(path)]) {
    const key = readKey(file);
    if (key === undefined || key === "damaged") continue;
    if (new SecretCipher(key).matches(check)) return formatKey(key);
  }
  throw wrongKey(path, "is missing, or is not the key that encrypted the stored secrets");
};

const createKey = (path: string): SecretCipher => {
  writeKey(path, randomBytes(KEY_BYTES));
  return cipherAt(path) as SecretCipher;
};

/** Warns if the mode of a key file outside the data folder lets other users read or change the key. */
const checkMode = (path: string, logger: Logger | undefined): void => {
  const mode = (statSync(path, { throwIfNoEntry: false })?.mode ?? 0) & 0o777;
  if ((mode & 0o077) === 0) return;
  logger?.warn("other users can access the secrets key; set the mode of the file to 0600", {
    keyFile: path,
    mode: mode.toString(8),
  });
};

/**
 * Ensures that the key file matches the stored secrets. Creates the key of a folder without secrets. Throws a
 * `DataFolderError` of kind `secrets_key` if the key is missing or wrong. Only one process may use the state.
 * @param configured the setting `secretsKeyFile`
 */
export const prepareKey = (
  db: DatabaseSync,
  dataDir: string,
  configured: string | undefined,
  logger?: Logger,
): SecretCipher => {
  const path = keyPathOf(dataDir, configured);
  const settings = new SettingRows(db);
  const check = settings.get(KEY_CHECK);
  if (configured !== undefined) checkMode(path, logger);
  // Nothing depends on a damaged key. A file outside of the data folder may be an unrelated file of the operator.
  if (configured === undefined && !hasSecrets(db) && readKey(path) === "damaged") rmSync(path);
  const cipher = cipherAt(path);
  if (check !== undefined && cipher?.matches(check) === true) {
    rmSync(pendingOf(path), { force: true });
    return cipher;
  }
  const completed = completeRekey(path, check, logger);
  if (completed !== undefined) return completed;
  if (hasSecrets(db)) return loadCipher(path, check);
  const accepted = cipher ?? createKey(path);
  settings.set(KEY_CHECK, accepted.check);
  return accepted;
};

/**
 * Replaces the key file with a copy of itself. Throws a `DataFolderError` of kind `secrets_key` if that fails. A mount
 * point, such as a Docker secret, can be written to but not replaced.
 */
const proveReplaceable = (path: string): void => {
  const copy = copyOf(path);
  try {
    rmSync(copy, { force: true });
    writePrivate(copy, readFileSync(path));
    renameSync(copy, path);
  } catch (error) {
    // No key file exists yet, so nothing needs replacing.
    if ((error as NodeJS.ErrnoException).code === "ENOENT" && !existsSync(path)) return;
    rmSync(copy, { force: true });
    throw new DataFolderError(
      "secrets_key",
      path,
      `The secrets key file ${path} cannot be replaced (${(error as Error).message}). It may be a mount point or in a read-only folder. Nothing was changed. Copy the file to a folder that Portside can write to, name the copy with --secrets-key-file or PORTSIDE_SECRETS_KEY_FILE, then run the command again.`,
      error,
    );
  }
};

/**
 * Creates a new key, and lets `commit` change the state. If the process ends in between, the next start uses the key
 * that matches the state. Throws a `DataFolderError` of kind `secrets_key`, and changes nothing, if the key file cannot
 * be replaced.
 * @param check the setting `KEY_CHECK`
 */
export const replaceKey = (path: string, check: string | undefined, commit: (cipher: SecretCipher) => void): void => {
  proveReplaceable(path);
  // The new key of an interrupted rekey may be the only valid key.
  if (matchingCipher(pendingOf(path), check) !== undefined) renamePending(path);
  rmSync(pendingOf(path), { force: true });
  commit(createKey(pendingOf(path)));
  renamePending(path);
};
