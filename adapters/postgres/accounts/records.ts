/** API keys in PostgreSQL, shared by all replicas. */
import { type KeyRecords, keyRecordOf } from "../../shared/accounts/key-record.ts";
import type { PostgresClient } from "./client.ts";

export const createKeyRecords = (client: PostgresClient): KeyRecords => ({
  insert: async ({ id, account, label, prefix, hash, createdAt, lastUsedAt }) =>
    void (await client.query(
      `INSERT INTO portside_keys (id, account, label, prefix, hash, created_at, last_used_at)
       VALUES ($1, $2, $3, $4, $5, $6, $7)`,
      [id, account, label, prefix, hash, createdAt, lastUsedAt],
    )),
  withPrefix: async (prefix) =>
    (await client.query("SELECT * FROM portside_keys WHERE prefix = $1", [prefix])).rows.map(keyRecordOf),
  ofAccount: async (account) =>
    (await client.query("SELECT * FROM portside_keys WHERE account = $1 ORDER BY created_at, id", [account])).rows.map(
      keyRecordOf,
    ),
  remove: async (account, id) =>
    (await client.query("DELETE FROM portside_keys WHERE account = $1 AND id = $2", [account, id])).rowCount === 1,
  used: async (id, at) =>
    void (await client.query("UPDATE portside_keys SET last_used_at = $1 WHERE id = $2", [at, id])),
});

/** Returns true to the first caller among all replicas, if no keys exist. Otherwise returns false. */
export const claimFirstKey = async (client: PostgresClient): Promise<boolean> =>
  (
    await client.query(
      `INSERT INTO portside_secrets (name, value) SELECT 'first_key', 'claimed' WHERE NOT EXISTS (SELECT FROM portside_keys)
       ON CONFLICT DO NOTHING`,
    )
  ).rowCount === 1;

/** Returns a secret that all replicas share. The first replica creates it. */
export const getOrCreateSecret = async (
  client: PostgresClient,
  name: string,
  make: () => Promise<string>,
): Promise<string> => {
  const read = async () =>
    (
      (await client.query("SELECT value FROM portside_secrets WHERE name = $1", [name])).rows[0] as
        | { value: string }
        | undefined
    )?.value;
  const known = await read();
  if (known !== undefined) return known;
  const made = "INSERT INTO portside_secrets (name, value) VALUES ($1, $2) ON CONFLICT DO NOTHING";
  await client.query(made, [name, await make()]);
  return (await read()) as string;
};
