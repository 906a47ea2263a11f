/**
 * Stores API keys and the token signing key in PostgreSQL, for several replicas and for machines without a
 * persistent disk.
 *
 * ```ts
 * const pool = new Pool({ connectionString });
 * const { identity } = await createPostgresIdentity(pool, { clock, ids, logger });
 * const controlPlane = createControlPlane({ ...ports, identity });
 * ```
 */
import type { JWK } from "jose";
import type { Identity } from "../../core/ports/provider.ts";
import { createIdentity, generateSigningKey, type IdentityConfig } from "../jwt/index.ts";
import type { PostgresClient } from "./accounts/client.ts";
import { migrate } from "./accounts/migrations.ts";
import { claimFirstKey, createKeyRecords, getOrMakeSecret } from "./accounts/records.ts";

export interface PostgresIdentity {
  readonly identity: Identity;
  /** Returns true to one replica, once: it must create the first key. Rejects if the database is unreachable. */
  claimFirstKey(): Promise<boolean>;
}

/**
 * Creates missing tables. The caller owns the client and must close it.
 * @throws if the database does not answer or its user may not create tables
 */
export const createPostgresIdentity = async (
  client: PostgresClient,
  config: Omit<IdentityConfig, "records" | "loadSigningKey">,
): Promise<PostgresIdentity> => {
  await migrate(client);
  const make = async () => JSON.stringify(await generateSigningKey());
  const identity = createIdentity({
    ...config,
    records: createKeyRecords(client),
    loadSigningKey: async () => JSON.parse(await getOrMakeSecret(client, "signing_key", make)) as JWK,
  });
  return { identity, claimFirstKey: () => claimFirstKey(client) };
};

export type { PostgresClient };
