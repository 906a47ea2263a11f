/** Sessions and sign-in links of the console in PostgreSQL, shared by all replicas. */
import {
  linkRecordOf,
  linkRowOf,
  type SessionRecords,
  sessionRecordOf,
  sessionRowOf,
} from "../../shared/accounts/session-record.ts";
import type { PostgresClient } from "./client.ts";

export const createSessionRecords = (client: PostgresClient): SessionRecords => {
  const insert = async (table: string, row: object): Promise<void> => {
    const columns = Object.keys(row);
    const values = columns.map((_, index) => `$${index + 1}`);
    const text = `INSERT INTO ${table} (${columns.join(", ")}) VALUES (${values.join(", ")})`;
    await client.query(text, Object.values(row));
  };
  const rows = async (text: string, ...values: readonly string[]) => (await client.query(text, [...values])).rows;
  return {
    insert: (record) => insert("portside_sessions", sessionRowOf(record)),
    withCookie: async (cookieHash) =>
      (await rows("SELECT * FROM portside_sessions WHERE cookie_hash = $1", cookieHash)).map(sessionRecordOf)[0],
    find: async (account, id) =>
      (await rows("SELECT * FROM portside_sessions WHERE account = $1 AND id = $2", account, id)).map(
        sessionRecordOf,
      )[0],
    ofAccount: async (account) =>
      (await rows("SELECT * FROM portside_sessions WHERE account = $1 ORDER BY created_at, id", account)).map(
        sessionRecordOf,
      ),
    remove: async (account, id) =>
      (await rows("DELETE FROM portside_sessions WHERE account = $1 AND id = $2 RETURNING id", account, id)).length ===
      1,
    seen: async (id, at) => void (await rows("UPDATE portside_sessions SET last_seen_at = $1 WHERE id = $2", at, id)),
    insertLink: (record) => insert("portside_links", linkRowOf(record)),
    takeLink: async (hash) =>
      (await rows("DELETE FROM portside_links WHERE hash = $1 RETURNING *", hash)).map(linkRecordOf)[0],
    removeExpired: async (now) => {
      await rows("DELETE FROM portside_sessions WHERE expires_at <= $1", now);
      await rows("DELETE FROM portside_links WHERE expires_at <= $1", now);
    },
  };
};
