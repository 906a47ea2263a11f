/**
 * The tables of credentials, made and changed in steps that are each done once, whichever replica comes first: every step is
 * one transaction behind a lock. https://www.postgresql.org/docs/current/explicit-locking.html#ADVISORY-LOCKS
 */
import type { PostgresClient } from "./client.ts";

/** Any number that nobody else locks by. */
const LOCK = 7_064_001;

/** In their order; what has been released is never changed, only followed by another. */
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
];

/** Several statements in one text are one transaction: https://www.postgresql.org/docs/current/protocol-flow.html */
const once = (version: number, step: string): string => `
  SELECT pg_advisory_xact_lock(${LOCK});
  CREATE TABLE IF NOT EXISTS portside_migrations (version integer PRIMARY KEY, done_at timestamptz NOT NULL DEFAULT now());
  DO $portside$ BEGIN
    IF NOT EXISTS (SELECT FROM portside_migrations WHERE version = ${version}) THEN
      ${step};
      INSERT INTO portside_migrations (version) VALUES (${version});
    END IF;
  END $portside$`;

/** Brings the tables up to date. Throws where the database does not answer, or does not let its user make tables. */
export const migrate = async (client: PostgresClient): Promise<void> => {
  for (const [index, step] of steps.entries()) await client.query(once(index + 1, step));
};
