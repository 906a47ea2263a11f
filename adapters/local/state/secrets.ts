/** Stores the versions of secrets. Their values are encrypted. */
import type { DatabaseSync } from "node:sqlite";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import type { SecretVersion, StoredSecret } from "../../../core/domain/secrets/secret.ts";
import type { Timestamp } from "../../../core/domain/wire/instant.ts";
import type { SecretName } from "../../../core/domain/wire/names.ts";
import { insert, selectAll, selectFirst } from "./sql.ts";

/** A version with its encrypted value. */
export interface SecretRow extends SecretVersion {
  readonly owner: AccountId;
  readonly name: SecretName;
  readonly sealed: Uint8Array;
}

const VERSION = "version, digest, created_at AS createdAt";

export class SecretRows {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  /** Returns the account's secrets sorted by name, each with its versions, newest first. */
  of(owner: AccountId): StoredSecret[] {
    const rows = selectAll<SecretVersion & { readonly name: SecretName }>(
      this.#db,
      `SELECT name, ${VERSION} FROM secrets WHERE owner = ? ORDER BY name, version DESC`,
      owner,
    );
    return [...Map.groupBy(rows, ({ name }) => name)].map(([name, versions]) => ({
      name,
      versions: versions.map(({ version, digest, createdAt }) => ({ version, digest, createdAt })),
    }));
  }

  newest(owner: AccountId, name: SecretName): SecretVersion | undefined {
    const newest = `SELECT ${VERSION} FROM secrets WHERE owner = ? AND name = ? ORDER BY version DESC LIMIT 1`;
    const row = selectFirst<SecretVersion>(this.#db, newest, owner, name);
    return row === undefined ? undefined : { ...row };
  }

  /** Returns the next number of a name. Numbers are not reused. The caller must have begun a transaction. */
  nextVersion(owner: AccountId, name: SecretName): number {
    const next = `INSERT INTO secret_numbers (owner, name, newest) VALUES (?, ?, 1)
      ON CONFLICT (owner, name) DO UPDATE SET newest = newest + 1 RETURNING newest`;
    return (selectFirst<{ newest: number }>(this.#db, next, owner, name) as { newest: number }).newest;
  }

  add({ owner, name, version, digest, createdAt, sealed }: SecretRow): void {
    insert(this.#db, "INSERT INTO secrets", { owner, name, version, digest, created_at: createdAt, sealed });
  }

  /** Returns the encrypted value. */
  sealed(owner: AccountId, name: SecretName, version: number): Uint8Array | undefined {
    const sealed = "SELECT sealed FROM secrets WHERE owner = ? AND name = ? AND version = ?";
    return selectFirst<{ sealed: Uint8Array }>(this.#db, sealed, owner, name, version)?.sealed;
  }

  /**
   * Deletes a version, or all versions. Returns false if there is none.
   * @param version undefined for all
   */
  delete(owner: AccountId, name: SecretName, version: number | undefined): boolean {
    const [filter, values] = version === undefined ? ["", []] : [" AND version = ?", [version]];
    const deleted = this.#db.prepare(`DELETE FROM secrets WHERE owner = ? AND name = ?${filter}`);
    return Number(deleted.run(owner, name, ...values).changes) > 0;
  }

  /** Returns every version of all accounts. */
  all(): SecretRow[] {
    return selectAll<SecretRow & { readonly createdAt: Timestamp }>(
      this.#db,
      `SELECT owner, name, ${VERSION}, sealed FROM secrets ORDER BY owner, name, version`,
    );
  }

  /** Deletes every version of all accounts. */
  clear(): void {
    this.#db.exec("DELETE FROM secrets");
  }

  /** Replaces the encrypted value and the digest of a version. */
  replace({ owner, name, version, digest, sealed }: SecretRow): void {
    this.#db
      .prepare("UPDATE secrets SET digest = ?, sealed = ? WHERE owner = ? AND name = ? AND version = ?")
      .run(digest, sealed, owner, name, version);
  }
}
