/** Stores API keys. Another process may add keys while the server runs. */
import type { DatabaseSync } from "node:sqlite";
import type { AccountId } from "../../../core/domain/accounts/account.ts";
import { type KeyRecords, keyRecordOf } from "../../shared/accounts/key-record.ts";
import { insert } from "./sql.ts";

export interface KeyRows extends KeyRecords {
  count(): number;
  hasOther(account: AccountId): boolean;
}

export const createKeyRows = (db: DatabaseSync): KeyRows => ({
  count: () => (db.prepare("SELECT count(*) AS n FROM keys").get() as { n: number }).n,
  hasOther: (account) => db.prepare("SELECT 1 FROM keys WHERE account <> ? LIMIT 1").get(account) !== undefined,
  insert: async ({ createdAt, lastUsedAt, ...record }) =>
    insert(db, "INSERT INTO keys", { ...record, created_at: createdAt, last_used_at: lastUsedAt }),
  withPrefix: async (prefix) => db.prepare("SELECT * FROM keys WHERE prefix = ?").all(prefix).map(keyRecordOf),
  ofAccount: async (account) =>
    db.prepare("SELECT * FROM keys WHERE account = ? ORDER BY created_at, id").all(account).map(keyRecordOf),
  remove: async (account, id) =>
    db.prepare("DELETE FROM keys WHERE account = ? AND id = ?").run(account, id).changes === 1,
  used: async (id, at) => void db.prepare("UPDATE keys SET last_used_at = ? WHERE id = ?").run(at, id),
});
