/**
 * Port for secrets. The store has no method that returns a value: the platform resolves the references of a template
 * itself when it starts an instance. The core validates names and values, and checks which deployments use a secret.
 */
import type { AccountId } from "../domain/accounts/account.ts";
import type { PendingRedeploys } from "../domain/secrets/redeploys.ts";
import type { SecretVersion, StoredSecret } from "../domain/secrets/secret.ts";
import type { SecretName } from "../domain/wire/names.ts";
import type { Conflict, NotFound, Unavailable } from "../errors.ts";
import type { ResultAsync } from "../result.ts";
import type { CallOptions } from "./system.ts";

/**
 * Stores the versions of secrets. Names are unique per account: two accounts may use the same name for different
 * secrets.
 */
export interface SecretStore {
  /**
   * Returns the account's secrets sorted by name, each with its versions, newest first. Must see every write of this
   * port that ended before the call.
   */
  list(owner: AccountId, options?: CallOptions): ResultAsync<readonly StoredSecret[], Unavailable>;

  /**
   * Stores a value as a new version, and returns the version. If the newest version has the same value, returns that
   * version and changes nothing.
   *
   * The number of the new version must be higher than that of each earlier version of the name, including deleted ones.
   * When the call returns, an instance of the account can start with the version. The digest must depend on the value
   * and on a secret of the platform, and must be the same in each version of the name that has the value.
   *
   * Fails with `conflict` if the store cannot hold another version of the name, or another name of the account. The
   * message must contain the next step.
   *
   * The value must not appear in the store's errors, logs or files, except in encrypted form.
   */
  set(
    owner: AccountId,
    name: SecretName,
    value: string,
    options?: CallOptions,
  ): ResultAsync<SecretVersion, Conflict | Unavailable>;

  /**
   * Deletes one version of a secret, or all versions if `version` is undefined. A secret without versions does not
   * exist. Fails with `not_found` if the account has no such secret or version. The caller must ensure that no service
   * uses the version.
   */
  delete(
    owner: AccountId,
    name: SecretName,
    version?: number,
    options?: CallOptions,
  ): ResultAsync<void, NotFound | Unavailable>;

  /**
   * Records that the redeploys for a new version have begun. The record must outlive the process. If a newer version is
   * recorded, the call changes nothing. The secret must exist.
   */
  beginRedeploys(pending: PendingRedeploys, options?: CallOptions): ResultAsync<void, Unavailable>;

  /** Removes the record of the secret, unless the record has a newer version. Succeeds if no record exists. */
  endRedeploys(pending: PendingRedeploys, options?: CallOptions): ResultAsync<void, Unavailable>;

  /**
   * Returns the records of all accounts, in any order, at most one for each secret. May lack writes that other
   * processes made in the last few minutes. May omit a deleted secret.
   */
  pendingRedeploys(options?: CallOptions): ResultAsync<readonly PendingRedeploys[], Unavailable>;
}
