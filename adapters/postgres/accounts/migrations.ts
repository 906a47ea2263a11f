/**
 * Migrations of the credential tables. Each runs once, on the first replica that starts, in one transaction under an
 * advisory lock: https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS
 */
import type { PostgresClient } from "./client.ts";

/** An arbitrary lock number. Other programs that share the database must not use it. */
const LOCK = 7_064_001;

/** In order. Do not change a released step; append a new one. */
const steps: readonly string[] = [
  `CREATE TABLE portside_keys (
     id text PRIMARY KEY,
     account text NOT NULL,
     label text NOT NULL,
     prefix text NOT NULL,
     hash text NOT NULL,
     created_at text COLLATE "C" NOT NULL,
     last_used_at text COLLATE "C"
   );
   CREATE INDEX portside_keys_prefix ON portside_keys (prefix);
   CREATE INDEX portside_keys_account ON portside_keys (account, created_at, id);
   CREATE TABLE portside_secrets (name text PRIMARY KEY, value text NOT NULL)`,
  `CREATE TABLE portside_sessions (
     id text PRIMARY KEY,
     account text NOT NULL,
     credential_kind text NOT NULL,
     credential_id text NOT NULL,
     key_id text,
     cookie_hash text NOT NULL UNIQUE,
     token_hash text NOT NULL,
     created_at text COLLATE "C" NOT NULL,
     expires_at text COLLATE "C" NOT NULL,
     last_seen_at text COLLATE "C"
   );
   CREATE INDEX portside_sessions_account ON portside_sessions (account, created_at, id);
   CREATE INDEX portside_sessions_expiry ON portside_sessions (expires_at);
   CREATE TABLE portside_links (
     hash text PRIMARY KEY,
     account text NOT NULL,
     credential_kind text NOT NULL,
     credential_id text NOT NULL,
     key_id text,
     credential_expires_at text,
     expires_at text COLLATE "C" NOT NULL
   );
   CREATE INDEX portside_links_expiry ON portside_links (expires_at)`,
];

/** Statements in one string form one transaction: https://www.postgresql.org/docs/current/protocol-flow.html */
const once = (version: number, step: string): string => `
  SELECT pg_advisory_xact_lock(${LOCK});
  CREATE TABLE IF NOT EXISTS portside_migrations (version integer PRIMARY KEY, done_at timestamptz NOT NULL DEFAULT now());
  DO $portside$ BEGIN
    IF NOT EXISTS (SELECT FROM portside_migrations WHERE version = ${version}) THEN
      ${step};
      INSERT INTO portside_migrations (version) VALUES (${version});
    END IF;
  END $portside$`;

/** Runs pending migrations. Throws if the database does not respond or its user lacks permission to create tables. */
export const migrate = async (client: PostgresClient): Promise<void> => {
  for (const [index, step] of steps.entries()) await client.query(once(index + 1, step));
};
