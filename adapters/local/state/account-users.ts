/** Stores the user (uid) of each account. Rows are never deleted, so that no second account gets the same uid. */
import type { DatabaseSync } from "node:sqlite";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { insert, selectFirst } from "./sql.ts";

export class AccountUserRows {
  readonly #db: DatabaseSync;

  constructor(db: DatabaseSync) {
    this.#db = db;
  }

  uidOf(owner: AccountId): number | undefined {
    return selectFirst<{ uid: number }>(this.#db, "SELECT uid FROM account_users WHERE owner = ?", owner)?.uid;
  }

  has(uid: number): boolean {
    return this.#db.prepare("SELECT 1 FROM account_users WHERE uid = ?").get(uid) !== undefined;
  }

  /**
   * Restores the uid of an account from the owner of its volume's folder, after the state was lost. Changes nothing if
   * the account already has a uid, or the uid already has an account.
   */
  restore(owner: AccountId, uid: number): void {
    insert(this.#db, "INSERT OR IGNORE INTO account_users", { owner, uid });
  }

  insert(owner: AccountId, uid: number): void {
    insert(this.#db, "INSERT INTO account_users", { owner, uid });
  }
}
